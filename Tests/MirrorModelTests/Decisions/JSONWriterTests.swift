@testable import MirrorKit
import Testing

/// JSON as it is written, byte for byte.
@Suite struct JSONWriterTests {
    static func text(_ write: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter()
        write(&json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    @Test func valuesAreSeparatedByCommas() {
        let text = Self.text { json in
            json.object { json in
                json.member("a", 1)
                json.member("b", "x")
                json.member("c", ["x", "y"])
                json.member("d", [String]())
                json.key("e")
                json.array { json in
                    json.object { _ in }
                    json.array { _ in }
                    json.null()
                    json.boolean(false)
                    json.number(-7)
                }
                json.member("f", true)
                json.member("g", String?.none)
                json.member("h", Int64?.none)
            }
        }
        let expected =
            #"{"a":1,"b":"x","c":["x","y"],"d":[],"e":[{},[],null,false,-7],"f":true,"g":null,"h":null}"#
        #expect(text == expected)
    }

    @Test(
        arguments: [
            ("", #""""#), ("a\"b", #""a\"b""#), ("a\\b", #""a\\b""#), ("\n\r\t", #""\n\r\t""#),
            ("\u{0}\u{1B}\u{1F}", #""\u0000\u001b\u001f""#), ("\u{7F}", #""\u007f""#),
            ("ä€😀", #""ä€😀""#), ("/", #""/""#), ("\u{2028}", "\"\u{2028}\""),
            ("\r\n", #""\r\n""#), ("e\u{301}", "\"e\u{301}\""),
        ] as [(String, String)])
    func textIsEscapedWhereItMust(value: String, text: String) {
        #expect(Self.text { $0.string(value) } == text)
        let member = Self.text { json in json.object { $0.member(named: value, value) } }
        #expect(member == "{\(text):\(text)}")
    }

    /// Long texts are looked at eight bytes at a time, and the last eight overlap those before.
    @Test(arguments: [1, 7, 8, 9, 15, 16, 17, 24])
    func textIsEscapedAtEachPlace(count: Int) {
        let escaped = (0..<0x20).map { UInt8($0) } + [0x22, 0x5C, 0x7F]
        for byte in (0..<0x80).map({ UInt8($0) }) {
            for place in 0..<count {
                var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: count)
                bytes[place] = byte
                let text = Self.text { $0.string(String(decoding: bytes, as: UTF8.self)) }
                let isPlain = text.utf8.elementsEqual([0x22] + bytes + [0x22])
                #expect(isPlain == !escaped.contains(byte), "byte \(byte) at \(place)")
            }
        }
        // Bytes of other signs do not hide one beside them.
        let other = String(repeating: "é", count: count)
        #expect(Self.text { $0.string(other) } == "\"\(other)\"")
        #expect(Self.text { $0.string(other + "\"" + other) } == #""\#(other)\"\#(other)""#)
    }

    @Test func wholeNumbersAreExact() {
        let text = Self.text { json in
            json.array { json in
                json.number(Int64.min)
                json.number(Int64.max)
                json.number(UInt64.max)
                json.number(0)
            }
        }
        #expect(
            text == "[-9223372036854775808,9223372036854775807,18446744073709551615,0]")
    }

    @Test(
        arguments: [
            (4.1, 3, "4.100"), (0, 3, "0.000"), (0.0004, 3, "0.000"), (0.0005, 3, "0.001"),
            (-0.0004, 3, "0.000"), (-1.5, 1, "-1.5"), (-0.05, 2, "-0.05"), (0.999_96, 4, "1.0000"),
            (2.5, 0, "3"), (1e-300, 3, "0.000"), (-0.0, 3, "0.000"), (1, -1, "1"),
            (0.123_456_789_123, 20, "0.123456789"), (1e12 + 0.5, 3, "1000000000000.500"),
            (900_000_000_000_000.9, 0, "900000000000001"),
        ] as [(Double, Int, String)])
    func decimalsAreRounded(value: Double, decimals: Int, text: String) {
        #expect(Self.text { $0.number(value, decimals: decimals) } == text)
    }

    /// Above 2^53 a Double has no thousandths left; whole and fraction must agree all the same.
    @Test func largeNumbersKeepTheirForm() {
        for value in [900_000_000_000_000.875, 4_398_046_511_103.9995, 8e15 - 1] {
            let text = Self.text { $0.number(value, decimals: 3) }
            let parts = text.split(separator: ".")
            #expect(parts.count == 2 && parts.last?.count == 3, "\(text)")
            #expect(parts.allSatisfy { $0.allSatisfy(\.isNumber) }, "\(text)")
            #expect(Double(text) == value || (Double(text) ?? 0) - value < 1)
        }
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, .greatestFiniteMagnitude, 1e16])
    func notANumberIsWrittenAsNull(value: Double) {
        #expect(Self.text { $0.number(value, decimals: 3) } == "null")
    }

    @Test func aDocumentCanBeTakenInChunks() {
        var json = JSONWriter()
        var bytes: [UInt8] = []
        json.beginArray()
        for number in 0..<3 {
            json.number(number)
            bytes += json.take()
            #expect(json.bytes.isEmpty)
        }
        json.endArray()
        json.newline()
        json.number(9)
        bytes += json.take()
        #expect(String(decoding: bytes, as: UTF8.self) == "[0,1,2]\n9")
    }
}

/// JSON that people read and edit.
@Suite struct IndentedJSONTests {
    @Test func membersAndElementsHaveLinesOfTheirOwn() {
        var json = JSONWriter(indentation: 2)
        json.object { json in
            json.member("a", 1)
            json.member("b", ["x", "y"])
            json.key("c")
            json.object { _ in }
            json.member("d", [String]())
        }
        json.newline()
        let text = """
            {
              "a": 1,
              "b": [
                "x",
                "y"
              ],
              "c": {},
              "d": []
            }

            """
        #expect(String(decoding: json.bytes, as: UTF8.self) == text)
    }
}
