@testable import MirrorKit
import Testing

/// Which status and which fields a request for a file gets (RFC 9110 §13, §14).
@Suite struct ServedAnswerTests {
    private static let hex = String(repeating: "ab", count: 32)
    private static let tag = "\"\(hex)\""
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    private static func file(size: Int64 = 100) throws -> ServedFile {
        let modified = try #require(HTTPDate(date)).seconds * 1_000_000_000
        return ServedFile(
            target: try Target("Documents/a"),
            stamp: FileStamp(size: size, modified: modified, changed: modified, inode: 1),
            sha256: try #require(Digest(.sha256, hex: hex)), mediaType: "text/plain")
    }

    private func answer(
        _ fields: [(ServedRequest.Field, String)], method: String = "GET", size: Int64 = 100
    ) throws -> ServedAnswer {
        var request = ServedRequest(method: method, path: "/Documents/a")
        for (field, value) in fields { request.add(field, value) }
        return ServedAnswer(to: request, with: try Self.file(size: size))
    }

    @Test func theDigestIsTagAndField() throws {
        let whole = try answer([])
        #expect(whole.status == 200)
        #expect(whole.body == .file(0..<100))
        #expect(whole.sha256 == (try Self.file()).sha256)
        #expect(whole["ETag"] == Self.tag)
        #expect(whole["Last-Modified"] == Self.date)
        #expect(whole["Accept-Ranges"] == "bytes")
        #expect(whole["Content-Type"] == "text/plain")
        #expect(whole["Cache-Control"] == "no-cache")
        #expect(
            whole["Repr-Digest"] == "sha-256=:q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=:")
        #expect(whole["Content-Range"] == nil)
    }

    @Test func aDigestNameNeverHasOtherBytes() throws {
        var file = try Self.file()
        file.isNamedByDigest = true
        let answer = ServedAnswer(to: ServedRequest(method: "GET", path: "/"), with: file)
        #expect(answer["Cache-Control"] == "public, max-age=31536000, immutable")
    }

    @Test func rangesAreCutToTheFile() throws {
        let rows: [(String, Int64, Range<Int64>, String)] = [
            ("bytes=0-0", 100, 0..<1, "bytes 0-0/100"),
            ("bytes=10-", 100, 10..<100, "bytes 10-99/100"),
            ("bytes=10-19", 100, 10..<20, "bytes 10-19/100"),
            ("bytes=90-200", 100, 90..<100, "bytes 90-99/100"),
            ("bytes=-10", 100, 90..<100, "bytes 90-99/100"),
            ("bytes=-200", 100, 0..<100, "bytes 0-99/100"),
            ("Bytes= 5-6 ", 100, 5..<7, "bytes 5-6/100"),
            ("bytes=99-9223372036854775807", 100, 99..<100, "bytes 99-99/100"),
        ]
        for (range, size, bytes, field) in rows {
            let part = try answer([(.range, range)], size: size)
            #expect(part.status == 206, "\(range)")
            #expect(part.body == .file(bytes), "\(range)")
            #expect(part["Content-Range"] == field)
            #expect(part["ETag"] == Self.tag)
            #expect(part["Repr-Digest"] != nil)
            #expect((part.sha256 == nil) == (bytes.count < size), "\(range)")
        }
    }

    @Test(
        arguments: ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=9223372036854775806-"])
    func aRangeBehindTheEndIsNotSatisfiable(_ range: String) throws {
        let answer = try answer([(.range, range)])
        #expect(answer.status == 416)
        #expect(answer["Content-Range"] == "bytes */100")
    }

    @Test func noRangeOfAnEmptyFileIsSatisfiable() throws {
        #expect(try answer([(.range, "bytes=0-")], size: 0).status == 416)
        #expect(try answer([(.range, "bytes=-5")], size: 0).status == 416)
        #expect(try answer([], size: 0).body == .file(0..<0))
    }

    /// A server may ignore a field that it does not understand (§14.2).
    @Test(
        arguments: [
            "bytes=0-1,5-6", "bytes=5-1", "bytes", "bytes=", "bytes=a-b", "lines=0-1", "bytes=--1",
            "bytes=0", "bytes=1-2x", "bytes=99999999999999999999-", "bytes=0-1, bytes=2-3",
        ])
    func rangesThatAreNotOnePartAreIgnored(_ range: String) throws {
        let answer = try answer([(.range, range)])
        #expect(answer.status == 200)
        #expect(answer.body == .file(0..<100))
    }

    @Test func aHeadRequestHasNoRange() throws {
        let answer = try answer([(.range, "bytes=0-1")], method: "HEAD")
        #expect(answer.status == 200)
        #expect(answer.body == .file(0..<100))
    }

    @Test func ifRangeTakesTheStrongTagOnly() throws {
        let rows: [(String, Int)] = [
            (Self.tag, 206), (" \(Self.tag) ", 206), ("W/\(Self.tag)", 200), ("\"other\"", 200),
            (Self.date, 200), ("", 200), (Self.hex, 200),
        ]
        for (condition, status) in rows {
            let answer = try answer([(.range, "bytes=1-"), (.ifRange, condition)])
            #expect(answer.status == status, "\(condition)")
        }
    }

    @Test func conditionsAreTriedInOrder() throws {
        let earlier = "Sun, 06 Nov 1994 08:49:36 GMT"
        let rows: [([(ServedRequest.Field, String)], Int)] = [
            ([(.ifNoneMatch, Self.tag)], 304), ([(.ifNoneMatch, "W/\(Self.tag)")], 304),
            ([(.ifNoneMatch, "*")], 304), ([(.ifNoneMatch, "\"a,b\", \(Self.tag)")], 304),
            ([(.ifNoneMatch, "\"a\"")], 200), ([(.ifNoneMatch, Self.hex)], 200),
            // A list in two fields is one list.
            ([(.ifNoneMatch, "\"a\""), (.ifNoneMatch, Self.tag)], 304),
            ([(.ifModifiedSince, Self.date)], 304), ([(.ifModifiedSince, earlier)], 200),
            ([(.ifModifiedSince, "yesterday")], 200),
            // If-None-Match decides alone (§13.1.3).
            ([(.ifNoneMatch, "\"a\""), (.ifModifiedSince, Self.date)], 200),
            ([(.ifMatch, Self.tag)], 200), ([(.ifMatch, "*")], 200),
            ([(.ifMatch, "W/\(Self.tag)")], 412), ([(.ifMatch, "\"a\"")], 412),
            ([(.ifUnmodifiedSince, Self.date)], 200), ([(.ifUnmodifiedSince, earlier)], 412),
            ([(.ifMatch, Self.tag), (.ifUnmodifiedSince, earlier)], 200),
            ([(.ifMatch, "\"a\""), (.ifNoneMatch, Self.tag)], 412),
            ([(.ifNoneMatch, Self.tag), (.range, "bytes=0-1")], 304),
            ([(.ifMatch, Self.tag), (.range, "bytes=200-")], 416),
        ]
        for (fields, status) in rows {
            let answer = try answer(fields)
            #expect(answer.status == status, "\(fields)")
            if status == 304 {
                // Its length is said, and the bytes are not sent.
                #expect(answer.body == .file(0..<100))
                #expect(answer["ETag"] == Self.tag)
                #expect(answer["Content-Type"] == nil)
            }
        }
    }

    @Test func loopbackTakesOnlyLocalNames() {
        let own = [
            nil, "127.0.0.1", "127.0.0.1:8080", "localhost", "LOCALHOST:80", "a.localhost:1",
            "[::1]:8080", "[::1]", "192.168.1.7:8080",
        ]
        for host in own { #expect(ServedAnswer.namesThisMachine(host), "\(host ?? "")") }
        let others = [
            "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
            "", ":80", "[::1].evil.example", "127.0.0.1, evil.example", "127.0.0.1:8080evil",
        ]
        for host in others { #expect(!ServedAnswer.namesThisMachine(host), "\(host)") }
    }

    @Test func fieldsAreFoundInAnyCase() {
        for (name, field) in [
            ("If-None-Match", ServedRequest.Field.ifNoneMatch), ("if-match", .ifMatch),
            ("IF-RANGE", .ifRange), ("Range", .range), ("Host", .host), ("Accept", .accept),
            ("if-modified-since", .ifModifiedSince), ("If-Unmodified-Since", .ifUnmodifiedSince),
        ] {
            let found = Array(name.utf8).withUnsafeBufferPointer { ServedRequest.Field($0) }
            #expect(found == field)
        }
        for name in ["Cookie", "Ranges", "If-Rouge", "Hose", "If_Match"] {
            let found = Array(name.utf8).withUnsafeBufferPointer { ServedRequest.Field($0) }
            #expect(found == nil, "\(name)")
        }
    }
}
