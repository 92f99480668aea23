/// How fast bytes arrived over a run's time.
///
/// The bytes of a transfer count as spread evenly from its beginning to its end.
public struct Throughput: Sendable, Hashable {
    /// Into how many stretches of time a run is divided at most.
    public static let mostBuckets: Int64 = 120

    /// The length of a bucket in milliseconds, at least 1.
    public let bucketLength: Int64
    /// Bytes a second in each bucket.
    public let rates: [Int64]
    /// All bytes.
    public let bytes: Int64
    /// The whole time in milliseconds, at least 1.
    public let length: Int64

    /// The greatest rate in bytes a second.
    public var peak: Int64 { rates.max() ?? 0 }

    /// All bytes by the whole time, in bytes a second.
    public var mean: Int64 { Int64(clamping: Int(Double(bytes) * 1000 / Double(length))) }

    /// The milliseconds at which the greatest rate was reached first.
    public var peakTime: Int64 {
        Int64(rates.firstIndex(of: peak) ?? 0) * bucketLength
    }
}

extension TransferLog {
    /// The throughput of a run that took so many milliseconds, or longer if a transfer did.
    public func throughput(lasting milliseconds: Int64) -> Throughput {
        let length = max(milliseconds, self.length)
        let width = max(1, (length + Throughput.mostBuckets - 1) / Throughput.mostBuckets)
        let count = Int((length + width - 1) / width)
        var sums = [Double](repeating: 0, count: max(count, 1))
        var bytes: Int64 = 0
        for entry in entries where entry.bytes > 0 {
            bytes = bytes.addingSaturated(entry.bytes)
            let first = min(Int(entry.began / width), sums.count - 1)
            let last = min(Int(entry.ended / width), sums.count - 1)
            let span = Double(max(entry.ended - entry.began, 1))
            for bucket in first...max(first, last) {
                let start = max(Double(entry.began), Double(Int64(bucket) * width))
                let end = min(Double(entry.ended), Double(Int64(bucket + 1) * width))
                let share = first == last ? 1 : max(0, end - start) / span
                sums[bucket] += Double(entry.bytes) * share
            }
        }
        return Throughput(
            bucketLength: width,
            rates: sums.map { Int64(($0 * 1000 / Double(width)).rounded()) },
            bytes: bytes, length: length)
    }
}
