@testable import MirrorKit
import MirrorTestSupport
import Synchronization
import Testing

/// Files that are read with `withFile` beside runs: of another session, without an end, of one's own.
@Suite(.timeLimit(.minutes(5))) struct SharedLeasesTests {
    private let a = "Caches/a"

    /// A file that is there, and of which the origin has a new version.
    private func stage(isAtomic: Bool = false) async throws -> (SessionRig, Manifest, Target) {
        let rig = try SessionRig()
        let resource = try rig.resource(a, [1])
        var manifest = Manifest(name: "m", resources: [resource])
        manifest.isAtomic = isAtomic
        try await rig.session.sync(manifest)
        _ = try rig.resource(a, [2])
        return (rig, manifest, resource.target)
    }

    @Test func anotherSessionOfTheProcessKeepsTheFile() async throws {
        let (rig, manifest, target) = try await stage()
        // A root has many names, and the folder counts.
        let other = try MirrorSession(root: rig.folder.path + "/./root")
        let sync = try await rig.session.withFile(target) { _ in
            let report = try await CacheEviction(toQuota: 0).carryOut(in: other)
            #expect(report.left.map(\.target) == [target])
            let sync = Task.detached { try await other.sync(manifest) }
            // Its answer was sent: had nothing held it back, the file could be replaced now.
            try await DetachedThread.run {
                while rig.origin.requests.count < 2 { Pause.milliseconds(2) }
                Pause.milliseconds(50)
            }
            #expect(rig.bytes(a) == [1])
            return sync
        }
        #expect(try await sync.value[.updated] == 1)
        #expect(rig.bytes(a) == [2])
    }

    @Test func aMissingFileIsNotRead() async throws {
        let (rig, _, _) = try await stage()
        try rig.folder.write("x", to: "root/Caches/folder/x")
        let nowhere = try MirrorSession(root: rig.folder.path + "/nowhere")
        for (session, path) in [
            (rig.session, "Caches/none"), (rig.session, "Caches/folder"), (nowhere, "Caches/a"),
        ] {
            let target = try Target(path)
            let error = await #expect(throws: MirrorError.self) {
                try await session.withFile(target) { _ in Issue.record("it was read") }
            }
            #expect(error?.code == .notThere)
            #expect(error?.target == target)
        }
    }

    /// One reader begins before the one before it has ended, for as long as the sync takes.
    @Test func readersThatOverlapKeepNoPromotionOut() async throws {
        let (rig, manifest, target) = try await stage()
        let isOver = Mutex(false)
        let readers = Task {
            var last: AsyncStream<Void>.Continuation?
            while !isOver.withLock({ $0 }) {
                let (until, end) = AsyncStream.makeStream(of: Void.self)
                let (begins, begun) = AsyncStream.makeStream(of: Void.self)
                Task {
                    try await rig.session.withFile(target) { _ in
                        begun.finish()
                        for await _ in until {}
                    }
                }
                // A promotion may be before it, and that waits for the one before.
                Task {
                    try await Task.sleep(for: .milliseconds(5))
                    begun.finish()
                }
                for await _ in begins {}
                last?.finish()
                last = end
            }
            last?.finish()
        }
        defer { isOver.withLock { $0 = true } }
        let summary = try await rig.session.sync(manifest)
        isOver.withLock { $0 = true }
        await readers.value
        #expect(summary[.updated] == 1)
        #expect(rig.bytes(a) == [2])
    }

    @Test(arguments: [false, true])
    func aSyncWithinItsOwnLeaseEnds(isAtomic: Bool) async throws {
        let (rig, manifest, target) = try await stage(isAtomic: isAtomic)
        try await rig.session.withFile(target) { _ in
            let own = try await rig.session.sync(manifest)
            #expect(own[.failed] == 1)
            #expect(own.exit == 69)
            async let child = rig.session.sync(manifest)
            #expect(try await child[.failed] == 1)
            let plan = try await rig.session.plan(manifest)
            var errors: [MirrorError] = []
            for try await event in rig.session.execute(plan) {
                if case .failed(let failed) = event.body { errors.append(failed.error) }
            }
            #expect(errors.map(\.code) == [.locked])
            #expect(rig.bytes(a) == [1])
        }
        #expect(try await rig.session.sync(manifest)[.updated] == 1)
        #expect(rig.bytes(a) == [2])
    }

    /// That run may wait for the reader, so a run that the reader waits for must not wait for that run.
    @Test(arguments: [false, true])
    func aSyncWithinALeaseDoesNotDeadlock(isAtomic: Bool) async throws {
        let (rig, manifest, target) = try await stage(isAtomic: isAtomic)
        let first = try await rig.session.withFile(target) { _ in
            let first = Task.detached { try await rig.session.sync(manifest) }
            try await DetachedThread.run {
                while rig.origin.requests.count < 2 { Pause.milliseconds(2) }
            }
            do {
                #expect(try await rig.session.sync(manifest)[.failed] == 1)
            } catch let error as MirrorError {
                #expect(error.code == .locked)
            }
            return first
        }
        #expect(try await first.value[.updated] == 1)
        #expect(rig.bytes(a) == [2])
    }

    @Test func aReaderMayReadItsFileAgain() async throws {
        let (rig, manifest, target) = try await stage()
        let sync = try await rig.session.withFile(target) { _ in
            let sync = Task.detached { try await rig.session.sync(manifest) }
            try await DetachedThread.run {
                while rig.origin.requests.count < 2 { Pause.milliseconds(2) }
                Pause.milliseconds(50)
            }
            try await rig.session.withFile(target) { _ in #expect(rig.bytes(a) == [1]) }
            return sync
        }
        #expect(try await sync.value[.updated] == 1)
    }

    @Test func readFilesKeepTheirConflictUnresolved() async throws {
        let rig = try SessionRig()
        let resource = try rig.resource("Documents/a", [1])
        try rig.folder.write("mine", to: "root/Documents/a")
        try await rig.session.sync(Manifest(name: "m", resources: [resource]))
        let resolution = ConflictResolution(of: resource.target, keeping: .mine)
        try await rig.session.withFile(resource.target) { _ in
            let error = await #expect(throws: MirrorError.self) {
                try await resolution.carryOut(in: rig.session)
            }
            #expect(error?.code == .conflict)
            #expect(rig.bytes("Documents/a") == [1])
        }
        _ = try await resolution.carryOut(in: rig.session)
        #expect(rig.bytes("Documents/a") == Array("mine".utf8))
    }
}
