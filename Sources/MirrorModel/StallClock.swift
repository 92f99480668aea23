/// Tells when fewer than 1 KiB a second arrived for too long.
///
/// It is fed with the time during which bytes were asked for, so a transfer that is queued, paused
/// or throttled by us does not stall.
struct StallClock {
    /// Bytes a second below which a transfer stalls.
    static let slowest: Int64 = 1024

    private let timeout: Int64
    private var asked: Int64 = 0
    private var received: Int64 = 0

    /// - Parameter timeout: seconds.
    init(timeout: Int64) { self.timeout = timeout * 1000 }

    /// Bytes arrived, header lines included.
    mutating func receive(_ bytes: Int) { received += Int64(bytes) }

    /// So many milliseconds went by; whether the transfer has stalled.
    mutating func ask(milliseconds: Int64) -> Bool {
        asked += milliseconds
        if received * 1000 >= asked * StallClock.slowest {
            asked = 0
            received = 0
        }
        return asked >= timeout
    }
}
