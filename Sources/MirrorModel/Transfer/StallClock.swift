/// Tells when fewer than 1 KiB a second arrived for too long.
///
/// It belongs to a transfer and spans its requests, so that it detects a server which sends one
/// byte for each request. It runs only while one of them asks for bytes. Its times are those of
/// `AskingTime`. Only bytes of bodies count: header lines bring the file no further. After a stall,
/// and after a pause, it begins anew.
package struct StallClock: Sendable {
    /// Bytes a second below which a transfer stalls.
    package static let slowest: Int64 = 1024

    private let timeout: Int64
    private var asked: Int64 = 0
    private var received: Int64 = 0
    /// The time since which a request asks for bytes; nil while none does.
    private var askingSince: Int64?

    /// - Parameter timeout: seconds.
    package init(timeout: Int64) {
        let (milliseconds, overflow) = timeout.multipliedReportingOverflow(by: 1000)
        self.timeout = overflow ? .max : milliseconds
    }

    /// Starts the clock: a request asks for bytes.
    package mutating func begin(at time: Int64) {
        if askingSince == nil { askingSince = time }
    }

    /// Stops the clock: no request asks for bytes any more.
    package mutating func end(at time: Int64) {
        count(until: time)
        askingSince = nil
    }

    /// Counts bytes of a body.
    package mutating func receive(_ bytes: Int) { received += Int64(bytes) }

    /// Whether the transfer has stalled.
    package mutating func hasStalled(at time: Int64) -> Bool {
        count(until: time)
        if received * 1000 >= asked * StallClock.slowest {
            asked = 0
            received = 0
        }
        return asked >= timeout
    }

    /// Begins anew, with the whole time limit.
    package mutating func reset() { self = StallClock(milliseconds: timeout) }

    private init(milliseconds: Int64) { timeout = milliseconds }

    private mutating func count(until time: Int64) {
        guard let since = askingSince else { return }
        asked += max(0, time - since)
        askingSince = max(since, time)
    }
}
