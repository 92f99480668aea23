import Testing

@testable import MirrorKit

/// RFC 8259 case by case, in the spirit of JSONTestSuite: `y` is taken, `n` is refused.
///
/// Where the RFC leaves room (duplicate keys, lone surrogates, numbers out of range, depth), mirror
/// refuses what two readers might read differently.
@Suite struct JSONConformanceTests {
    /// Reads a whole text; gives its tokens, or nil when there was an error.
    private func tokens(_ bytes: [UInt8]) -> [String]? {
        let log = DiagnosticLog(file: "test")
        var found: [String] = []
        do throws(DecodingStop) {
            var tokenizer = try JSONTokenizer(ManifestBytes(bytes), log: log)
            while true {
                let token = try tokenizer.next()
                switch token {
                case .end: return log.errorCount == 0 ? found : nil
                case .key: found.append("k:" + tokenizer.string)
                case .string: found.append("s:" + tokenizer.string)
                case .number: found.append("n:" + tokenizer.string)
                case .boolean(let value): found.append("\(value)")
                case .null: found.append("null")
                case .beginObject: found.append("{")
                case .endObject: found.append("}")
                case .beginArray: found.append("[")
                case .endArray: found.append("]")
                }
            }
        } catch {
            #expect(log.errorCount > 0, "an end without a reason")
            return nil
        }
    }

    @Test(arguments: [
        "[]", "{}", " [ ] ", "\n{\t}\r\n", "[[]]", "[[],[[]]]", "{\"a\":{}}", "[1]", "[-1]", "[0]",
        "[-0]", "[0.5]", "[-0.0]", "[1e1]", "[1E1]", "[1e+1]", "[1e-1]", "[1.5e300]", "[123456789]",
        "[1e-400]", "[0e1]", "[0e+1]", "[20e1]", "[1.0]", "[true]", "[false]", "[null]", "true",
        "false", "null", "0", "-1.5E2", "\"\"", "\"a\"", " \"a\" ", "[\"\"]", "[\"a\",\"b\"]",
        "[1,2,3]", "[1 ,2\n,3 ]", "{\"\":0}", "{\"a\":1,\"b\":2}", "{\"a\":[1,{\"a\":2}]}",
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\u0041\"]", "[\"\\u00e9\\u00E9\"]",
        "[\"\\u0000\"]",
        "[\"\\uD834\\uDD1E\"]", "[\"\\ud834\\udd1e\"]", "[\"\\uDBFF\\uDFFF\"]", "[\"\\uFFFF\"]",
        "[\"é\"]", "[\"€\"]", "[\"𝄞\"]", "[\"\u{7F}\"]", "[\"\u{10FFFF}\"]", "[\"\u{FEFF}\"]",
        "[\"\u{2028}\u{2029}\"]", "[\"/*not a comment*/ //\"]", "[\"\\\\u0041\"]", "[\"\\u005C\"]",
        "{\"a\":1,\"A\":2}", "{\"é\":1,\"e\u{301}\":2}", "[[1],[1]]", "[{\"a\":1},{\"a\":1}]",
        "\u{FEFF}[]", "[1,[2,[3,[4]]]]", "{\"a\":null}", "[ \"a\" , true ]", "[\"a\"\n]",
    ])
    func validTextsAreAccepted(text: String) {
        #expect(tokens(Array(text.utf8)) != nil)
    }

    @Test(arguments: [
        "", " ", "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]",
        "[\"a\" 1]",
        "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\" 1}", "{\"a\"::1}", "{1:1}", "{null:1}",
        "{a:1}", "{'a':1}", "['a']", "{\"a\":1 \"b\":2}", "{\"a\":1;\"b\":2}", "[1}", "{\"a\":1]",
        "[]]", "{}}", "[] []", "{} {}", "1 2", "[1]x", "[a]", "[tru]", "[True]", "[TRUE]", "[nul]",
        "[nulll]", "[NaN]", "[Infinity]", "[-Infinity]", "[undefined]", "[01]", "[-01]", "[00]",
        "[+1]", "[.5]", "[5.]", "[1.e1]", "[1e]", "[1e+]", "[1E-]", "[1e1.5]", "[--1]", "[-]",
        "[- 1]", "[1-2]", "[0x10]", "[1_000]", "[1a]", "[１]", "[1e999]", "[-1e999]", "[1.5e309]",
        "\"", "\"a", "[\"a]", "[\"a\n\"]", "[\"\t\"]", "[\"\u{0}\"]", "[\"\u{1F}\"]", "[\"\\",
        "[\"\\\"]",
        "[\"\\x41\"]", "[\"\\a\"]", "[\"\\'\"]", "[\"\\u\"]", "[\"\\u00\"]", "[\"\\u00G0\"]",
        "[\"\\U0041\"]", "[\"\\uD800\"]", "[\"\\uDC00\"]", "[\"\\uD800\\uD800\"]", "[\"\\uD800x\"]",
        "[\"\\uD800\\n\"]", "[\"\\uDC00\\uD800\"]", "[\"\\uD834\\u0041\"]", "[// a\n1]",
        "[/* a */1]",
        "# a\n[]", "[] // end", "[1/2]", "[/", "/**/", "[/*", "{\"a\":1,\"a\":2}",
        "{\"a\":1,\"\\u0061\":2}",
        "{\"a\":{\"b\":1,\"b\":1}}", "\u{FEFF}", "[\u{FEFF}]", "[\u{A0}1]", "[\u{2028}1]",
        "[1\u{0}]", "<a/>",
        "[\u{C}1]", "[*]", "[\"a\",]", "{\"a\":1,,\"b\":2}", "[$]", "(1)", "é",
    ])
    func invalidTextsAreRefused(text: String) {
        #expect(tokens(Array(text.utf8)) == nil)
    }

    /// What stands between quotation marks, as bytes: all that Unicode's Table 3-7 does not allow.
    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0xAF], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x80, 0xAF],
            [0xE0, 0x9F, 0xBF], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x80, 0x80, 0xAF], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
            [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xE9],
        ] as [[UInt8]])
    func invalidUTF8IsRefused(bytes: [UInt8]) {
        #expect(tokens(Array("[\"".utf8) + bytes + Array("\"]".utf8)) == nil)
        #expect(tokens(Array("[".utf8) + bytes + Array("]".utf8)) == nil)
        #expect(tokens(Array("[\"".utf8) + bytes) == nil)
    }

    @Test func escapesBecomeTheirCharacters() {
        let text = "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD834\\uDD1E\"]"
        #expect(tokens(Array(text.utf8)) == ["[", "s:\"\\/\u{8}\u{C}\n\r\té𝄞", "]"])
    }

    @Test func jsonNestingDepthIsBounded() {
        let nested = { String(repeating: "[", count: $0) + String(repeating: "]", count: $0) }
        #expect(tokens(Array(nested(64).utf8)) != nil)
        #expect(tokens(Array(nested(65).utf8)) == nil)
        #expect(tokens(Array(String(repeating: "[", count: 1_000_000).utf8)) == nil)
        #expect(tokens(Array(String(repeating: "{\"a\":", count: 65).utf8)) == nil)
    }

    @Test func jsonStringAndNumberLengthsAreBounded() {
        let long = String(repeating: "a", count: JSONTokenizer.longestText)
        #expect(tokens(Array("[\"\(long)\"]".utf8)) != nil)
        #expect(tokens(Array("[\"\(long)a\"]".utf8)) == nil)
        #expect(tokens(Array("[\(String(repeating: "1", count: 400))]".utf8)) == nil)
        #expect(tokens(Array("[0.\(String(repeating: "1", count: 400))]".utf8)) != nil)
    }

    /// Every token is read the same wherever the border between two chunks falls.
    @Test func chunkBoundariesDoNotChangeTheTokens() {
        let text = "\"é𝄞\\u00e9\\uD834\\uDD1E\\n\",-1.5e+3,true,null,{\"ключ\":[]}"
        let expected = tokens(Array("[\"\",\(text)]".utf8))?.dropFirst(2)
        for shift in 0..<(text.utf8.count + 8) {
            let padding = String(repeating: "x", count: ManifestBytes([]).chunkSize - shift)
            let found = tokens(Array("[\"\(padding)\",\(text)]".utf8))?.dropFirst(2)
            #expect(found == expected)
        }
    }

    @Test func manyKeysInOneObjectTakeLinearTime() {
        let keys = (0..<50_000).map { "\"\($0)\":0" }.joined(separator: ",")
        #expect(tokens(Array("{\(keys)}".utf8)) != nil)
        #expect(tokens(Array("{\(keys),\"77\":0}".utf8)) == nil)
    }
}
