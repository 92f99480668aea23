import Glibc
@testable import MirrorKit
import Testing

/// Files that a reader holds while Caches is shrunk.
@Suite(.timeLimit(.minutes(15))) struct EvictionLeaseTests {
    @Test func aFileThatIsReadIsNotEvicted() async throws {
        let rig = try SessionRig()
        let held = try rig.resource("Caches/held.bin", [1, 2, 3])
        let idle = try rig.resource("Caches/idle.bin", [4, 5, 6])
        try await rig.session.sync(Manifest(name: "m", resources: [held, idle]))
        let report = try await rig.session.withFile(held.target) { _ in
            try await CacheEviction(toQuota: 0).carryOut(in: rig.session)
        }
        #expect(report.evicted.map(\.target) == [idle.target])
        #expect(report.left.map(\.target) == [held.target])
        #expect(rig.bytes("Caches/held.bin") == [1, 2, 3])
        #expect(rig.bytes("Caches/idle.bin") == nil)
        let later = try await CacheEviction(toQuota: 0).carryOut(in: rig.session)
        #expect(later.evicted.map(\.target) == [held.target])
    }

    /// File systems note a read once a day at most, or never (mount(8), `relatime` and `noatime`).
    @Test func whatWasReadLastIsEvictedLast() async throws {
        let rig = try SessionRig()
        let read = try rig.resource("Caches/z.bin", [1, 2, 3])
        let idle = try rig.resource("Caches/a.bin", [4, 5, 6])
        try await rig.session.sync(Manifest(name: "m", resources: [read, idle]))
        try await rig.session.withLock { try await rig.session.withFile(read.target) { _ in } }
        for (resource, hours) in [(read, 100), (idle, 1)] {
            let path = rig.session.path(of: resource.target)
            var status = stat()
            #expect(stat(path, &status) == 0)
            status.st_atim.tv_sec -= hours * 3600
            #expect(utimensat(AT_FDCWD, path, [status.st_atim, status.st_mtim], 0) == 0)
        }
        let report = try await CacheEviction(toQuota: 3).carryOut(in: rig.session)
        #expect(report.evicted.map(\.target) == [idle.target])
        #expect(rig.bytes("Caches/z.bin") == [1, 2, 3])
    }

    /// A rename would take the file from under its reader.
    @Test func anOrphanThatIsReadIsMovedAfterwards() async throws {
        let rig = try SessionRig()
        var old = try rig.resource("Caches/old.bin", [1, 2, 3])
        old.digests = [ByteHasher.digest(.sha256, of: [1, 2, 3])]
        let rest = try (0..<3).map { try rig.resource("Caches/\($0).bin", [UInt8($0)]) }
        try await rig.session.sync(Manifest(name: "m", resources: [old] + rest))
        var new = old
        new.target = try Target("Documents/new.bin")
        let other = try rig.resource("Caches/other.bin", [4])
        var options = PlanOptions()
        options.prune = true
        let plan = try await rig.session.plan(
            [Manifest(name: "m", resources: [new, other] + rest)], options: options)
        #expect(plan.steps.contains { $0.kind == .move })
        let running = try await rig.session.withFile(old.target) { _ in
            // A task of the body would not wait for it.
            let running = Task.detached { for try await _ in rig.session.execute(plan) {} }
            while rig.bytes("Caches/other.bin") == nil {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(rig.bytes("Caches/old.bin") == [1, 2, 3])
            #expect(rig.bytes("Documents/new.bin") == nil)
            return running
        }
        try await running.value
        #expect(rig.bytes("Caches/old.bin") == nil)
        #expect(rig.bytes("Documents/new.bin") == [1, 2, 3])
    }

    /// A run looks for readers when it removes, not only when it is planned.
    @Test func anOrphanThatIsReadIsNotPruned() async throws {
        let rig = try SessionRig()
        let held = try rig.resource("Caches/held.bin", [1, 2, 3])
        let idle = try rig.resource("Caches/idle.bin", [4, 5, 6])
        // More stays than goes, so that it may go.
        let rest = try (0..<6).map { try rig.resource("Caches/\($0).bin", [UInt8($0)]) }
        try await rig.session.sync(Manifest(name: "m", resources: [held, idle] + rest))
        var options = PlanOptions()
        options.prune = true
        let fewer = Manifest(name: "m", resources: rest)
        let plan = try await rig.session.plan([fewer], options: options)
        var failures: [String] = []
        try await rig.session.withFile(held.target) { _ in
            for try await event in rig.session.execute(plan) {
                if case .failed(let failed) = event.body { failures.append("\(failed)") }
            }
            #expect(rig.bytes("Caches/held.bin") == [1, 2, 3])
        }
        #expect(failures.count == 1, "\(failures)")
        #expect(rig.bytes("Caches/idle.bin") == nil)
        let again = try await rig.session.plan([fewer], options: options)
        for try await _ in rig.session.execute(again) {}
        #expect(rig.bytes("Caches/held.bin") == nil)
    }
}
