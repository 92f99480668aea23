/// The bytes that a plan writes to one file system, compared with the free space there.
///
/// An unknown size counts as 0 bytes. But if fewer bytes are free than must stay free, not even a
/// file of unknown size fits.
struct SpaceDemand: Sendable, Hashable {
    /// The bytes to write, as far as sizes are known.
    var bytes: Int64 { staying.addingSaturated(passing) }
    /// The bytes of files that stay.
    private var staying: Int64 = 0
    /// The bytes of the largest file that needs them only for a while.
    private var passing: Int64 = 0
    private var unknown = 0
    private var files = 0
    private var first: Target?

    /// A demand for no bytes.
    init() {}

    /// Adds a file and the bytes that will be written for it. `nil` means an unknown size.
    mutating func add(_ bytes: Int64?, for target: @autoclosure () -> Target) {
        if bytes == 0 { return }
        if first == nil { first = target() }
        files += 1
        if let bytes { staying = staying.addingSaturated(bytes) } else { unknown += 1 }
    }

    /// Adds a file that needs its bytes here only for a while. The largest such file counts.
    mutating func passThrough(_ bytes: Int64?, for target: @autoclosure () -> Target) {
        if bytes == 0 { return }
        if first == nil { first = target() }
        files += 1
        if let bytes { passing = max(passing, bytes) } else { unknown += 1 }
    }

    /// Returns the error if the bytes do not fit. Returns nil if they fit.
    ///
    /// - Parameters:
    ///   - place: the file system, named by a folder on it.
    ///   - available: bytes that may still be written there.
    ///   - least: bytes that must stay free.
    func refusal(at place: String, available: Int64, least: Int64) -> MirrorError? {
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

/// How many files a run may remove. A run with more removals is taken for a mistake, and refused.
public enum DeleteLimit: Sendable, Hashable {
    /// At most this number.
    case count(Int)
    /// At most this percentage of the files that the manifest owns.
    case percent(Int)
    /// The default: at most half of the owned files, or all of them if they are ten or fewer.
    ///
    /// A manifest without resources may remove no file.
    case whenOmitted

    /// Reads `10` or `25%`. Returns nil for any other text.
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
