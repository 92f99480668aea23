extension Int64 {
    /// The sum, clamped to the range of Int64.
    ///
    /// Sizes come from manifests, so even a few of them can add up to more than an Int64 can hold.
    package func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
