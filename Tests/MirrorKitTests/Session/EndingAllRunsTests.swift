import MirrorKit
import MirrorModel
import MirrorTestSupport
import Testing

/// `cancelAll` while runs have not begun.
@Suite(.timeLimit(.minutes(15))) struct EndingAllRunsTests {
    @Test func aRunThatWaitsForCredentialsEndsWithTheOthers() async throws {
        let rig = try SessionRig()
        let plan = try await rig.session.plan(
            Manifest(name: "m", resources: [try rig.resource("Caches/a", [1])]))
        let session = rig.session
        var options = RunOptions()
        options.credentials = { _ in
            await session.cancelAll()
            return []
        }
        #expect(try await end(of: session.execute(plan, options: options)) == 130)
        #expect(rig.bytes("Caches/a") == nil)
    }

    @Test func aRunThatWasJustAskedForEndsWithTheOthers() async throws {
        for _ in 0..<20 {
            let rig = try SessionRig(holdingAfter: 0)
            let plan = try await rig.session.plan(
                Manifest(name: "m", resources: [try rig.resource("Caches/a", [1])]))
            let run = rig.session.execute(plan)
            await rig.session.cancelAll()
            // A run that goes on all the same ends, too.
            rig.origin.release()
            #expect(try await end(of: run) == 130)
            #expect(rig.bytes("Caches/a") == nil)
            // Those that are asked for later are not meant.
            #expect(try await end(of: rig.session.execute(plan)) == 0)
        }
    }

    private func end(of run: Run) async throws -> Int32? {
        var exit: Int32?
        do {
            for try await event in run {
                if case .summary(let summary) = event.body { exit = summary.exit }
            }
        } catch let error as MirrorError {
            #expect(error.code == .cancelled)
        }
        return exit
    }
}
