extension Int64 {
    /// The sum, or the greatest or least number where it does not fit: sizes come from manifests, and
    /// a few of them can be more than the world holds.
    package func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
