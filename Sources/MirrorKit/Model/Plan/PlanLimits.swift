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
