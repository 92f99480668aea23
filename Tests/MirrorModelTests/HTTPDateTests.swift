@testable import MirrorKit
import MirrorTestSupport
import Testing

@Suite struct HTTPDateTests {
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Sun Nov 06 08:49:37 1994", 784_111_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_799),
            ("Tuesday, 19-Jan-38 03:14:08 GMT", 2_147_483_648),
        ] as [(String, Int64)])
    func httpDateReadsAllThreeForms(text: String, seconds: Int64) {
        #expect(HTTPDate(text)?.seconds == seconds)
    }

    @Test(arguments: [
        "", "0", "-1", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 31 Apr 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT",
        "1994-11-06T08:49:37Z", "Sun,  06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 0x Nov 1994 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
    ])
    func malformedHTTPDatesAreRefused(text: String) {
        #expect(HTTPDate(text) == nil)
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
        "Wed, 31 Dec 1969 23:59:59 GMT", "Thu, 29 Feb 2024 12:00:00 GMT",
        "Fri, 01 Mar 2024 00:00:01 GMT",
    ])
    func httpDateWritesWhatItReads(text: String) {
        #expect(HTTPDate(text)?.description == text)
    }

    /// The quick way to the form that is sent: each date comes back, and no other text is a date.
    @Test func eachSecondComesBack() throws {
        var random = SplitMix64(seed: 1)
        for _ in 0..<3000 {
            let date = HTTPDate(
                seconds: .random(in: -62_135_596_800...253_402_300_799, using: &random))
            #expect(HTTPDate(date.description) == date)
        }
    }

    @Test func aChangedByteIsNoDateOrAnother() throws {
        let text = Array("Sun, 29 Feb 2032 08:49:37 GMT".utf8)
        for at in text.indices {
            for byte in UInt8.min...UInt8.max where byte != text[at] {
                var other = text
                other[at] = byte
                let date = other.withUnsafeBufferPointer { HTTPDate($0) }
                // The name of the day is not compared with the date, and a leap second does not count.
                guard let date, other[23] != UInt8(ascii: "6") else { continue }
                #expect(Array(date.description.utf8).dropFirst(3) == other.dropFirst(3))
            }
        }
    }
}
