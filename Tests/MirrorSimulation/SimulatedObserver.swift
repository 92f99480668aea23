@testable import MirrorModel
@testable import MirrorKit

/// Takes what the engine tells.
final class SimulatedObserver: TransferObserver, @unchecked Sendable {
    // One thread uses it; see VirtualTime.
    var told: [Int: [TransferEvent]] = [:]
    var ends: [Int: [(time: Int64, result: TransferResult)]] = [:]
    var onEvent: (Int, TransferEvent) -> Void = { _, _ in }
    /// Has the run act on what it was told.
    var settle: () -> Void = {}
    private var isDeciding = false
    private let time: VirtualTime

    init(_ time: VirtualTime) { self.time = time }

    func tell(_ job: TransferJob, _ event: TransferEvent) {
        told[job.id, default: []].append(event)
        time.tell("job \(job.id) tells \(SimulatedObserver.summary(of: event))")
        if case .ended(let result) = event {
            ends[job.id, default: []].append((time.now, result))
            if case .failed(let error, _) = result, job.isDecisive || error.code.endsRun {
                isDeciding = true
            }
        }
        onEvent(job.id, event)
    }

    func settleFailures() -> Bool {
        guard isDeciding else { return false }
        isDeciding = false
        settle()
        return true
    }

    private static func summary(of event: TransferEvent) -> String {
        switch event {
        case .started(let source, _, let offset): "started at \(source) from \(offset)"
        case .progress(let bytes, _, _): "\(bytes) bytes"
        case .verifying(let bytes): "verifying \(bytes) bytes"
        case .retry(let cause, let attempt, let wait, _):
            "retry \(attempt) in \(wait) ms: \(cause.message)"
        case .restart(let cause, let attempt): "restart \(attempt): \(cause.message)"
        case .ended(.received(let body)): "received \(body.size) bytes"
        case .ended(.failed(let error, _)): "failed: \(error.message)"
        case .ended(let result): "\(result)"
        }
    }
}
