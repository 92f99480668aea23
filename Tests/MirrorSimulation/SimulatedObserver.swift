@testable import MirrorKit

/// Takes what the engine tells.
final class SimulatedObserver: TransferObserver, @unchecked Sendable {
    // One thread uses it; see VirtualTime.
    var told: [Int: [TransferEvent]] = [:]
    var ends: [Int: [(time: Int64, result: TransferResult)]] = [:]
    /// The run, once there is one; the stage has both.
    weak var run: SimulatedRun?
    private let time: VirtualTime

    init(_ time: VirtualTime) { self.time = time }

    func tell(_ download: Download, _ event: TransferEvent) {
        told[download.id, default: []].append(event)
        time.tell("job \(download.id) tells \(SimulatedObserver.summary(of: event))")
        if case .ended(let result) = event {
            ends[download.id, default: []].append((time.now, result))
        }
        run?.note(event, of: download.id)
    }

    func takeTurn() { run?.takeTurn() }

    var timeToWait: Int64? { run?.timeToWait }

    private static func summary(of event: TransferEvent) -> String {
        switch event {
        case .started(let source, _, let offset): "started at \(source) from \(offset)"
        case .progress(let bytes, _, _): "\(bytes) bytes"
        case .verifying(let bytes): "verifying \(bytes) bytes"
        case .warning(let text): "warning: \(text)"
        case .retry(let cause, let attempt, let wait, _):
            "retry \(attempt) in \(wait) ms: \(cause.message)"
        case .restart(let cause, let attempt): "restart \(attempt): \(cause.message)"
        case .ended(.received(let body)): "received \(body.size) bytes"
        case .ended(.failed(let error, _)): "failed: \(error.message)"
        case .ended(let result): "\(result)"
        }
    }
}
