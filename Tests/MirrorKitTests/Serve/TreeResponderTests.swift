import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

/// What a server that runs already says of a set whose promotion is under way.
@Suite struct TreeResponderTests {
    /// The rows of a set are written last, and an interrupted set may wait for long.
    @Test(arguments: SetGround.Way.allCases, [PromotionStep.placed, .cleaned])
    func aSetsFileIsServedBeforeItsRow(
        way: SetGround.Way, step: PromotionStep
    ) async throws {
        let ground = try await SetGround(way)
        let root = try RootDirectory(opening: ground.folder.path)
        let watch = try IndexWatch(root)
        let notes = Mutex<[String]>([])
        let responder = TreeResponder(root, watch, isLocal: false) { note in
            notes.withLock { $0.append(note) }
        }
        _ = try await ground.promote(PromotionProbe(goesOn: { $0 != step }))
        for (name, text) in SetGround.new {
            let request = ServedRequest(method: "GET", path: "/" + ground.path(name))
            var reply = responder.reply(to: request, isRepeated: false)
            if case .work(let work) = reply {
                work(CancellationFlag())
                reply = responder.reply(to: request, isRepeated: true)
            }
            guard case .answer(let answer, .some) = reply else {
                Issue.record("\(name): \(reply)")
                continue
            }
            #expect(answer.status == 200, "\(name)")
            #expect(answer["ETag"] == "\"\(Checksum.sha256(Array(text.utf8)))\"", "\(name)")
        }
        #expect(notes.withLock { $0 } == [])
        try watch.close()
    }
}
