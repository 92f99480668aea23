import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// What a row learns from an answer that confirms its version.
@Suite(.timeLimit(.minutes(15))) struct ConfirmedRowTests {
    private static let etag = "ETag: \"v1\""

    /// Brings version 1 and has it confirmed; returns the row before and after.
    ///
    /// - Parameters:
    ///   - first: further fields of the first answer.
    ///   - second: those of the confirmation.
    ///   - between: changes the file, or what is wanted, before the second run.
    private func rows(
        first: [String] = [], second: [String] = [],
        between: (SessionStage, inout [Manifest]) throws -> Void = { _, _ in }
    ) async throws -> (before: IndexRecord, after: IndexRecord) {
        let lines = { (fields: [String]) in
            ([Self.etag] + fields).map { "      " + $0 + "\n" }.joined()
        }
        let stage = try SessionStage(
            """
              on GET /a
                reply
                  HTTP/1.1 200 OK
            \(lines(first))      @body v1
              on GET /a
                reply
                  HTTP/1.1 304 Not Modified
            \(lines(second))
            """)
        defer { stage.end() }
        var resource = try stage.resource("a")
        resource.refresh = .always
        var manifests = [Manifest(name: "m", resources: [resource])]
        try await sync(manifests, stage.session)
        let before = try row(of: resource.target, stage)
        // Times are kept in milliseconds.
        Pause.milliseconds(5)
        try between(stage, &manifests)
        try await sync(manifests, stage.session)
        let after = try row(of: resource.target, stage)
        #expect(after.confirmedAt > before.confirmedAt)
        #expect(after.promotedAt == before.promotedAt)
        return (before, after)
    }

    private func sync(_ manifests: [Manifest], _ session: MirrorSession) async throws {
        try await session.withPlan(of: manifests) { plan in
            for try await _ in session.execute(plan) {}
        }
    }

    private func row(of target: Target, _ stage: SessionStage) throws -> IndexRecord {
        let index = try Index.openForReading(RootDirectory(opening: stage.session.root))
        defer { try? index.close() }
        return try #require(try index.record(for: target))
    }

    /// The row with the times of another.
    private func row(_ row: IndexRecord, timesOf other: IndexRecord) -> IndexRecord {
        var row = row
        (row.confirmedAt, row.freshUntil) = (other.confirmedAt, other.freshUntil)
        return row
    }

    @Test func anAnswerLikeTheLastChangesTheTimes() async throws {
        let type = "Content-Type: text/plain"
        let (before, after) = try await rows(first: [type], second: [type])
        #expect(before.freshUntil == nil)
        #expect(after == row(before, timesOf: after))
    }

    @Test(arguments: [[], ["Content-Type: text/plain"]])
    func freshnessUntilATimeIsKept(_ others: [String]) async throws {
        let (before, after) = try await rows(second: ["Cache-Control: max-age=3600"] + others)
        #expect(before.freshUntil == nil)
        #expect(try #require(after.freshUntil) > after.confirmedAt)
    }

    @Test func anotherDateIsKept() async throws {
        let (before, after) = try await rows(
            second: ["Last-Modified: Thu, 01 Jan 1970 00:00:07 GMT"])
        #expect(before.validators.lastModified == nil)
        #expect(after.validators.lastModified == HTTPDate(seconds: 7))
        #expect(after.validators.entityTag == before.validators.entityTag)
    }

    @Test func aMediaTypeThatWasUnknownIsKept() async throws {
        let (before, after) = try await rows(second: ["Content-Type: text/plain"])
        #expect(before.mediaType == nil)
        #expect(after.mediaType == "text/plain")
    }

    @Test func withoutAMediaTypeTheFormerOneStays() async throws {
        let (before, after) = try await rows(first: ["Content-Type: text/plain"])
        #expect(after == row(before, timesOf: after))
    }

    @Test func anotherOwnerIsKept() async throws {
        let (before, after) = try await rows { _, manifests in
            manifests = [Manifest(name: "n", resources: Array(manifests[0].resources))]
        }
        #expect(before.owners.names == ["m"])
        #expect(after.owners.names == ["n"])
    }

    @Test func theStampOfATouchedFileIsKept() async throws {
        let (before, after) = try await rows { stage, _ in
            let times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
            #expect(utimensat(AT_FDCWD, stage.folder.full("root/Caches/a"), times, 0) == 0)
        }
        #expect(before.stamp.modified != 1_000_000_000)
        #expect(after.stamp.modified == 1_000_000_000)
        #expect(after.sha256 == before.sha256)
    }
}
