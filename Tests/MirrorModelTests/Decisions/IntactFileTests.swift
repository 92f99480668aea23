import Testing

@testable import MirrorModel

/// A file that was made of lent bytes is written as the one that was made of strings.
@Suite struct IntactFileTests {
    private static let digest = [UInt8](repeating: 0xAB, count: 31) + [0x0C]

    /// Both documents of a file with these facts.
    private static func documents(
        path: String = "Caches/a", owners: String = "m", source: String? = nil,
        verified: Verification = .size, confirmedAt: Int64 = 1_700_000_000_123,
        freshness: Freshness = .fresh(until: nil)
    ) throws -> (lent: String, made: String) {
        var made = StoredFile(target: try Target(path), state: .intact)
        made.owners = Owners(text: owners)
        made.size = 7
        made.sha256 = Digest(.sha256, bytes: digest)
        made.verified = verified
        made.source = source.map { SourceKey(text: $0).description }
        made.confirmedAt = Instant(milliseconds: confirmedAt)
        made.freshness = freshness
        var (path, owners, text) = (path, owners, source ?? "")
        var json = JSONWriter()
        path.withUTF8 { path in
            owners.withUTF8 { owners in
                text.withUTF8 { text in
                    digest.withUnsafeBufferPointer { digest in
                        let file = IntactFile(
                            path: path, owners: owners, size: 7, sha256: digest,
                            verified: verified, source: source == nil ? nil : text,
                            confirmedAt: Instant(milliseconds: confirmedAt), freshness: freshness)
                        file.write(to: &json)
                        #expect(file.target == made.target)
                    }
                }
            }
        }
        return (String(decoding: json.bytes, as: UTF8.self), JSONWriterTests.text(made.write))
    }

    @Test(arguments: ["Caches/a", "Caches/a\"b", "Documents/\u{E9}/\u{1F600}"])
    func aPathIsEscapedAlike(path: String) throws {
        let (lent, made) = try Self.documents(path: path)
        #expect(lent == made)
    }

    @Test(
        arguments: [
            ("", #""manifest":null,"manifests":[]"#), ("m", #""manifest":"m","manifests":["m"]"#),
            ("a\u{1F}b", #""manifest":"a","manifests":["a","b"]"#),
        ])
    func eachOwnerIsNamed(owners: String, expected: String) throws {
        let (lent, made) = try Self.documents(owners: owners)
        #expect(lent == made)
        #expect(lent.contains(expected), "\(lent)")
    }

    @Test(
        arguments: [
            (nil, "null"), ("https://a.example/f", #""https://a.example/f""#),
            ("https://a.example/f?00ff", #""https://a.example/f""#),
        ])
    func noHashOfAQueryIsShown(source: String?, expected: String) throws {
        let (lent, made) = try Self.documents(source: source)
        #expect(lent == made)
        #expect(lent.contains("\"source\":\(expected),"), "\(lent)")
    }

    @Test(arguments: [0, 1_700_000_000_123, -1, Int64.min, .max])
    func anInstantIsWrittenAlike(milliseconds: Int64) throws {
        let (lent, made) = try Self.documents(
            confirmedAt: milliseconds,
            freshness: .fresh(until: Instant(milliseconds: milliseconds)))
        #expect(lent == made)
        #expect(lent.contains(Instant(milliseconds: milliseconds).rfc3339), "\(lent)")
    }

    @Test(arguments: [Freshness.due(.always), .fresh(until: nil)])
    func whatIsDueIsSaidAlike(freshness: Freshness) throws {
        let (lent, made) = try Self.documents(verified: .none, freshness: freshness)
        #expect(lent == made)
        #expect(lent.contains("\"fresh\":\"\(freshness.word)\""), "\(lent)")
    }

    /// The members and their order are what scripts read.
    @Test func theDocumentIsThis() throws {
        let hex = String(repeating: "ab", count: 31) + "0c"
        let expected = """
            {"path":"Caches/a","state":"intact","manifest":"m","manifests":["m"],"size":7,\
            "sha256":"\(hex)","verified":"size","source":null,\
            "confirmed":"2023-11-14T22:13:20.123Z","fresh":"fresh","freshUntil":null,\
            "orphan":false,"partBytes":0,"conflictOf":null}
            """
        #expect(try Self.documents().lent == expected)
    }
}
