/// The bytes that a plan writes to one file system, compared with the free space there.
///
/// An unknown size counts as nothing. But if fewer bytes are left than must stay free, there is no
/// room for a file of unknown size either.
package struct SpaceDemand: Sendable, Hashable {
    /// Bytes, as far as they are known.
    package private(set) var bytes: Int64 = 0
    private var unknown = 0
    private var files = 0
    private var first: Target?

    /// Nothing yet.
    package init() {}

    /// Adds a file and the number of bytes that will be written for it; nil is not known.
    package mutating func add(_ bytes: Int64?, for target: @autoclosure () -> Target) {
        if bytes == 0 { return }
        if first == nil { first = target() }
        files += 1
        if let bytes { self.bytes = self.bytes.addingSaturated(bytes) } else { unknown += 1 }
    }

    /// Makes room for one more file for a while: the largest of those that pass through.
    package mutating func passThrough(_ bytes: Int64?, for target: @autoclosure () -> Target) {
        if bytes == 0 { return }
        if first == nil { first = target() }
        files += 1
        if let bytes { self.bytes = max(self.bytes, bytes) } else { unknown += 1 }
    }

    /// Why it does not fit; nil when it does.
    ///
    /// - Parameters:
    ///   - place: the file system, as people know it: a folder on it.
    ///   - available: bytes that may still be written there.
    ///   - least: bytes that stay free.
    package func refusal(at place: String, available: Int64, least: Int64) -> MirrorError? {
        guard let first, available < bytes.addingSaturated(least) else { return nil }
        let others = files - 1
        let more = others > 0 ? " and \(Counted(others, "more file"))" : ""
        let size = bytes > 0 ? "\(ByteCount(bytes))" : ""
        let open = unknown > 0 ? "\(unknown) of unknown size" : ""
        let sizes = [size, open].filter { !$0.isEmpty }.joined(separator: " + ")
        return MirrorError(
            .spaceLimit,
            "\(first)\(more): no room for \(sizes): \(place) has \(ByteCount(available)) left, and \(ByteCount(least)) stay free.",
            target: first, remedy: Remedy(.freeSpace))
    }
}

/// How many files a run may remove before it is taken for a mistake.
public enum DeleteLimit: Sendable, Hashable {
    /// At most this number.
    case count(Int)
    /// At most this percentage of the files that the manifest owned.
    case percent(Int)
    /// The default: half of more than ten files, and none at all for a
    /// manifest that names no resource.
    case whenOmitted

    /// Reads `10` or `25%`; nil for anything else.
    public init?(text: String) {
        let isPercentage = text.hasSuffix("%")
        let digits = isPercentage ? text.dropLast() : text[...]
        guard digits.utf8.allSatisfy({ (0x30...0x39) ~= $0 }), let number = Int(digits),
            !isPercentage || number <= 100
        else { return nil }
        self = isPercentage ? .percent(number) : .count(number)
    }

    /// Whether removing `removals` of the `owned` files of a manifest is allowed.
    public func allows(removals: Int, owned: Int, resources: Int) -> Bool {
        guard removals > 0 else { return true }
        switch self {
        case .count(let most): return removals <= most
        case .percent(let share):
            // Products of 128 bits: exact at every size.
            let (removed, allowed) = (
                removals.multipliedFullWidth(by: 100), owned.multipliedFullWidth(by: share)
            )
            return (removed.high, removed.low) <= (allowed.high, allowed.low)
        case .whenOmitted:
            if resources == 0 { return false }
            return owned <= 10 || removals <= owned / 2
        }
    }
}
