import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Files that stay, and that somebody changes between the look at them and their confirmation.
@Suite struct ConfirmationTests {
    private let tree: PromotionTree

    init() throws { tree = try PromotionTree() }

    /// A row as a plan makes it that found the file rewritten; then the file is rewritten again.
    private func rewrittenTwice() async throws -> IndexRecord {
        var record = try await tree.put("Caches/a", "hello")
        try tree.folder.write("hello", to: "Caches/a")
        record.stamp = try stamp()
        repeat { try tree.folder.write("hello", to: "Caches/a") } while try stamp() == record.stamp
        return record
    }

    private func stamp() throws -> FileStamp {
        let file = try tree.look("Caches/a")
        guard case .file(let stamp) = file else { return try #require(nil, "\(file)") }
        return stamp
    }

    /// A source that is asked may take hours to answer: what it confirms must still be there.
    @Test(arguments: [true, false])
    func whatIsConfirmedIsThereWithItsBytes(isGone: Bool) async throws {
        let record = try await tree.put("Caches/a", "hello")
        if isGone {
            #expect(unlink(tree.folder.path + "/Caches/a") == 0)
        } else {
            try tree.folder.write("HELLO", to: "Caches/a")
        }
        let again = Confirmed(record, again: (PromotionTree.time, nil))
        for confirmed in [again, Confirmed(record)] {
            let error = await tree.confirm(confirmed)
            #expect(error?.code == .sourceChanged)
            #expect(error?.isRetryable == true)
            #expect(error?.message.contains(isGone ? "removed" : "changed") == true)
        }
        #expect(try tree.record("Caches/a") == record)
        await tree.promoter.stop()
    }

    @Test func aFileTouchedAmidItsRequestIsConfirmed() async throws {
        let record = try await tree.put("Caches/a", "hello")
        try tree.folder.write("hello", to: "Caches/a")
        let confirmed = Confirmed(record, again: (PromotionTree.time, nil))
        #expect(await tree.confirm(confirmed) == nil)
        await tree.promoter.stop()
    }

    /// A person who edits a file may go on while its source is asked.
    @Test func anEditIsConfirmedOnlyAsSeen() async throws {
        let record = try await tree.put("Documents/a", "hello")
        try tree.folder.write("edited", to: "Documents/a")
        guard case .file(let edited) = try tree.look("Documents/a") else {
            Issue.record("no file")
            return
        }
        let confirmed = Confirmed(record, planned: edited)
        #expect(await tree.confirm(confirmed) == nil)
        try tree.folder.write("hello", to: "Documents/a")
        #expect(await tree.confirm(confirmed)?.code == .sourceChanged)
        await tree.promoter.stop()
    }

    /// The row speaks of a file that is gone, so that the next run reads the one that is there.
    @Test func aRewrittenFileIsReadNextRun() async throws {
        let record = try await rewrittenTwice()
        let confirmed = Confirmed(record, isRewritten: true)
        #expect(await tree.confirm(confirmed) == nil)
        #expect(try tree.record("Caches/a")?.stamp == record.stamp)
        #expect(try stamp() != record.stamp)
        await tree.promoter.stop()
    }

    /// A mode is given to the bytes that were looked at, and to no others.
    @Test(arguments: [(true, UInt32?.none), (false, 0o755)])
    func anAdoptedFileMustBeTheSeenOne(
        isAdoption: Bool, mode: UInt32?
    ) async throws {
        let record = try await rewrittenTwice()
        let confirmed = Confirmed(
            record, isAdoption: isAdoption, isRewritten: true, mode: mode)
        #expect(await tree.confirm(confirmed)?.code == .sourceChanged)
        await tree.promoter.stop()
    }
}
