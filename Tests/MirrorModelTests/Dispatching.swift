@testable import MirrorKit

/// A dispatcher whose calls may stand within an expectation.
final class Dispatching {
    private var dispatcher: Dispatcher

    init(
        jobs: Int = 9, perHost: Int? = 9, retries: Int = 7, remembered: [Host: Int] = [:]
    ) {
        dispatcher = Dispatcher(
            jobs: jobs, perHost: perHost,
            policy: TransferPolicy(retries: retries, maxWait: .seconds(300)),
            remembered: remembered,
            jitter: { $0 })
    }

    static func host(_ name: String) throws -> Host {
        Host(try SourceURL("https://\(name).example/"))
    }

    static let refused = TransportFailure(
        .connectFailed, "connection refused", isPassing: true, wasSent: false)
    static let silent = TransportFailure(.stalled, "silence", isPassing: true, wasSent: true)

    func follow(rate: Int64?) { dispatcher.follow(rate: rate) }

    func connected(_ id: Int, isShared: Bool = false) {
        dispatcher.connected(id) { isShared }
    }

    /// Starts all that can start at a time.
    func fill(now: Int64 = 0, hasRead: Bool = true) -> [Int] {
        dispatcher.advance(to: now, hasRead: hasRead)
        var ids: [Int] = []
        while let id = dispatcher.next() { ids.append(id) }
        return ids
    }

    func add(
        _ ids: some Sequence<Int>, _ host: Host, priority: Int32 = 0, hasOthers: Bool = false,
        isBrief: Bool = false
    ) {
        for id in ids {
            dispatcher.add(
                id, priority: priority, host: host, hasOthers: hasOthers, isBrief: isBrief)
        }
    }

    /// A try brings nothing, and its transfer is queued again.
    func fail(_ id: Int, at host: Host, _ failure: TransportFailure) -> HostSilence {
        defer {
            dispatcher.release(id)
            dispatcher.add(id, priority: 0, host: host)
        }
        return dispatcher.failed(id, failure)
    }

    var runningCount: Int { dispatcher.runningCount }
    func next() -> Int? { dispatcher.next() }
    func advance(to now: Int64) { dispatcher.advance(to: now) }
    func timeToWait() -> Int64? { dispatcher.timeToWait() }
    func remove(_ id: Int) { dispatcher.remove(id) }
    func release(_ id: Int) { dispatcher.release(id) }
    func admit(_ id: Int, to host: Host) -> HostAdmission { dispatcher.admit(id, to: host) }
    func answered(_ id: Int, isShared: Bool = false) {
        dispatcher.answered(id, isShared: isShared)
    }
    func failed(_ id: Int, _ failure: TransportFailure) -> HostSilence {
        dispatcher.failed(id, failure)
    }
    func hold(_ host: Host, until: Int64, isTooLong: Bool) {
        dispatcher.hold(host, until: until, isTooLong: isTooLong)
    }
    func delay(_ id: Int, until: Int64, endsWithNetwork: Bool = false) {
        dispatcher.delay(id, until: until, endsWithNetwork: endsWithNetwork)
    }
    func popWoken() -> Int? { dispatcher.popWoken() }
    func networkReturned() { dispatcher.networkReturned() }
    func takeExtra(at host: Host) -> Bool { dispatcher.takeExtra(at: host) }
    func releaseExtra(at host: Host) { dispatcher.releaseExtra(at: host) }
    func isWaitedFor(at host: Host) -> Bool { dispatcher.isWaitedFor(at: host) }
    func lowerJobs() -> Int { dispatcher.lowerJobs() }
    func lenders() -> [Int] { dispatcher.lenders() }
    func lend(_ id: Int) { dispatcher.lend(id) }
    func measure() { dispatcher.measure() }
    func received(_ bytes: Int, by id: Int) { dispatcher.received(bytes, by: id) }
    func backOff(_ id: Int) { dispatcher.backOff(id) }
}
