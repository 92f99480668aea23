import MirrorKit
import MirrorModel

/// Work that is no transfer, such as reading the tree, with the time that it will still take.
struct StageProgress: Sendable, Hashable {
    /// What is done, for people.
    var words: String
    /// How far it is.
    var activity = Activity()
    /// Milliseconds since it began.
    var milliseconds: Int64 = 0

    /// Bytes a second, over all of it.
    var rate: Int64? { perSecond(activity.bytes) }

    /// Seconds until it ends: by bytes where all are known, else by the number of files.
    var secondsLeft: Int64? {
        if let total = activity.totalBytes, total > 0 {
            return seconds(Double(total - activity.bytes), of: activity.bytes)
        }
        guard let total = activity.total, total > 0 else { return nil }
        return seconds(Double(total - activity.done), of: Int64(activity.done))
    }

    /// The share that is done, from 0 to 1; nil where nobody knows.
    var share: Double? {
        if let total = activity.totalBytes, total > 0 {
            return min(1, Double(activity.bytes) / Double(total))
        }
        guard let total = activity.total, total > 0 else { return nil }
        return min(1, Double(activity.done) / Double(total))
    }

    private func perSecond(_ count: Int64) -> Int64? {
        guard milliseconds >= 500, count > 0 else { return nil }
        return Int64(Double(count) * 1000 / Double(milliseconds))
    }

    private func seconds(_ left: Double, of done: Int64) -> Int64? {
        guard milliseconds >= 500, done > 0 else { return nil }
        let rate = Double(done) / Double(milliseconds)
        return Int64((max(0, left) / rate / 1000).rounded(.up))
    }
}
