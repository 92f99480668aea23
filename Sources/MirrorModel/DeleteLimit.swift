/// How many files a run may remove before it is taken for a mistake.
public enum DeleteLimit: Sendable, Hashable {
    /// At most so many.
    case count(Int)
    /// At most so many of a hundred that the manifest owned.
    case percent(Int)
    /// What holds when nothing was said: half of more than ten files, and none at all for a
    /// manifest that names no resource.
    case whenOmitted

    /// Reads `10` or `25%`; nil for anything else.
    public init?(text: String) {
        let isPercentage = text.hasSuffix("%")
        guard let number = Int(isPercentage ? text.dropLast() : text[...]), number >= 0,
            text.utf8.first != UInt8(ascii: "+"), !isPercentage || number <= 100
        else { return nil }
        self = isPercentage ? .percent(number) : .count(number)
    }

    /// Whether removing `removals` of the `owned` files of a manifest is allowed.
    public func allows(removals: Int, owned: Int, resources: Int) -> Bool {
        guard removals > 0 else { return true }
        switch self {
        case .count(let most): return removals <= most
        case .percent(let share):
            return Double(removals) * 100 <= Double(owned) * Double(share)
        case .whenOmitted:
            if resources == 0 { return false }
            return owned <= 10 || removals * 2 <= owned
        }
    }
}
