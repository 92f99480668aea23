@testable import MirrorKit
import MirrorTestSupport
import Testing

/// `MirrorSession.watch`: one run after another, for as long as its loop lives.
@Suite(.timeLimit(.minutes(5))) struct SessionWatchTests {
    @Test func aChangedManifestBeginsTheNextRun() async throws {
        let rig = try SessionRig()
        try write(rig, ["a"])
        var fetched: [Int] = []
        for try await run in rig.session.watch([.path(rig.folder.path + "/m.json")]) {
            for try await event in run {
                if case .summary(let summary) = event.body { fetched.append(summary[.fetched]) }
            }
            if fetched.count == 2 { break }
            try write(rig, ["a", "b"])
        }
        #expect(fetched == [1, 1])
        #expect(rig.bytes("Caches/b") == [2])
    }

    @Test func cancellingItsTaskEndsTheLoop() async throws {
        let rig = try SessionRig()
        try write(rig, ["a"])
        let watching = Task {
            var runs = 0
            for try await run in rig.session.watch([.path(rig.folder.path + "/m.json")]) {
                runs += 1
                await run.finish()
                withUnsafeCurrentTask { $0?.cancel() }
            }
            return runs
        }
        #expect(try await watching.value == 1)
        // The lock is free.
        try await rig.session.sync(Manifest(name: "other", resources: []))
    }

    @Test func aManifestThatIsNotThereIsThrownAtFirst() async throws {
        let rig = try SessionRig()
        let watch = rig.session.watch([.path(rig.folder.path + "/none.json")])
        let error = await #expect(throws: MirrorError.self) { for try await _ in watch {} }
        #expect(error?.code == .manifestUnreadable)
    }

    @Test func aManifestThatBreaksIsARunThatThrows() async throws {
        let rig = try SessionRig()
        try write(rig, ["a"])
        var ends: [Int32] = []
        var errors: [FailureCode] = []
        for try await run in rig.session.watch([.path(rig.folder.path + "/m.json")]) {
            do {
                for try await event in run {
                    if case .summary(let summary) = event.body { ends.append(summary.exit) }
                }
            } catch { errors.append(MirrorError(wrapping: error).code) }
            if ends.count == 3 { break }
            if ends.count == 1 {
                try rig.folder.write(Array("{".utf8), to: "m.json")
            } else {
                try write(rig, ["a", "b"])
            }
        }
        #expect(ends == [0, 65, 0])
        #expect(errors == [.manifestInvalid])
        #expect(rig.bytes("Caches/b") == [2])
    }

    @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.max)])
    func anImpossibleWaitIsRefused(every: Duration) async throws {
        let rig = try SessionRig()
        try write(rig, ["a"])
        let watch = rig.session.watch([.path(rig.folder.path + "/m.json")], every: every)
        let error = await #expect(throws: MirrorError.self) { for try await _ in watch {} }
        #expect(error?.code == .usage)
    }

    private func write(_ rig: SessionRig, _ names: [String]) throws {
        let resources = try names.enumerated().map { number, name in
            let resource = try rig.resource("Caches/\(name)", [UInt8(number + 1)])
            return "{\"path\":\"\(resource.target.path)\",\"url\":\"\(resource.primary.url)\"}"
        }
        let text =
            "{\"name\":\"m\",\"defaults\":{\"refresh\":\"never\"},"
            + "\"resources\":[\(resources.joined(separator: ","))]}"
        try rig.folder.write(Array(text.utf8), to: "m.json")
    }
}
