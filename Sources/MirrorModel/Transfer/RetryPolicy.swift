/// How long to wait before trying again: exponential back-off with full jitter, from 0.5 s to 30 s.
///
/// Jitter alone may draw a ladder of short waits, and a ladder that ends after five seconds does
/// not outlive a server that restarts. So the last wait makes up for the shortfall of the ones
/// before it: the seven retries of the default take at least 22 s, and 31 s on average.
package struct RetryPolicy: Sendable, Hashable {
    /// How often all sources are tried again.
    package var retries: Int
    /// The longest wait in seconds.
    package var longestWait: Int64

    /// The ceiling of the first wait in milliseconds; each further one is twice as high.
    static let firstCeiling: Int64 = 500
    /// The highest ceiling in milliseconds.
    static let highestCeiling: Int64 = 30_000
    /// The least length of a whole ladder of waits, as a share of its average.
    static let leastShare = 0.72

    /// Takes the two limits.
    package init(retries: Int, longestWait: Int64) {
        self.retries = retries
        self.longestWait = longestWait
    }

    /// The wait in milliseconds before a retry, counted from 1.
    ///
    /// - Parameters:
    ///   - waited: the sum of this ladder's waits so far, in milliseconds.
    ///   - jitter: picks a number from 0 to its argument, evenly.
    package func wait(
        beforeRetry retry: Int, waited: Int64 = 0, jitter: (Int64) -> Int64
    ) -> Int64 {
        let drawn = jitter(ceiling(of: retry))
        guard retry == retries else { return drawn }
        return min(max(drawn, leastTotal - waited), longestMilliseconds)
    }

    /// The longest wait that may be drawn for a retry, counted from 1, in milliseconds.
    private func ceiling(of retry: Int) -> Int64 {
        let exponent = min(max(retry, 1) - 1, 20)
        let doubled = min(RetryPolicy.firstCeiling << Int64(exponent), RetryPolicy.highestCeiling)
        return min(doubled, longestMilliseconds)
    }

    private var longestMilliseconds: Int64 {
        let (milliseconds, overflow) = longestWait.multipliedReportingOverflow(by: 1000)
        return overflow ? .max : max(0, milliseconds)
    }

    /// The least sum of all waits of a ladder, in milliseconds.
    ///
    /// Ladders with more steps than the default are long enough by themselves.
    private var leastTotal: Int64 {
        guard (1...10).contains(retries) else { return 0 }
        let ceilings = (1...retries).reduce(into: Int64(0)) { $0 += ceiling(of: $1) }
        return Int64(Double(ceilings) / 2 * RetryPolicy.leastShare)
    }
}

/// The waits of a transfer since it last made progress: their number and their sum.
struct Ladder: Sendable, Hashable {
    private(set) var retries = 0
    private var waited: Int64 = 0

    /// The next wait, in milliseconds.
    mutating func next(_ policy: RetryPolicy, jitter: (Int64) -> Int64) -> Int64 {
        retries += 1
        let wait = policy.wait(beforeRetry: retries, waited: waited, jitter: jitter)
        waited += wait
        return wait
    }
}
