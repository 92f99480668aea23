@testable import MirrorKit
@testable import MirrorModel

/// Takes what the engine tells.
final class SimulatedNews: TransferObserver, @unchecked Sendable {
    // One thread uses it; see VirtualTime.
    var told: [Int: [TransferNews]] = [:]
    var ends: [Int: [(time: Int64, result: TransferResult)]] = [:]
    var onNews: (Int, TransferNews) -> Void = { _, _ in }
    /// Has the run act on what it was told.
    var settle: () -> Void = {}
    private var isDeciding = false
    private let time: VirtualTime

    init(_ time: VirtualTime) { self.time = time }

    func tell(_ job: TransferJob, _ news: TransferNews) {
        told[job.id, default: []].append(news)
        time.tell("job \(job.id) tells \(SimulatedNews.summary(of: news))")
        if case .ended(let result) = news {
            ends[job.id, default: []].append((time.now, result))
            if case .failed(let error, _) = result, job.isDecisive || error.code.endsRun {
                isDeciding = true
            }
        }
        onNews(job.id, news)
    }

    func settleFailures() -> Bool {
        guard isDeciding else { return false }
        isDeciding = false
        settle()
        return true
    }

    private static func summary(of news: TransferNews) -> String {
        switch news {
        case .started(let source, _, let offset): "started at \(source) from \(offset)"
        case .progress(let bytes, _, _): "\(bytes) bytes"
        case .retry(let cause, let attempt, let wait):
            "retry \(attempt) in \(wait) ms: \(cause.message)"
        case .restart(let cause, let attempt): "restart \(attempt): \(cause.message)"
        case .ended(.received(let body)): "received \(body.size) bytes"
        case .ended(.failed(let error, _)): "failed: \(error.message)"
        case .ended(let result): "\(result)"
        }
    }
}
