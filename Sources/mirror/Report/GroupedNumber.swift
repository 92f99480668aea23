/// Whole numbers in a report have a comma before each thousand.
extension BinaryInteger {
    /// The whole number as people read it: `1,204`.
    var grouped: String {
        var digits = Array(String(self))
        var at = digits.count - 3
        while at > (self < 0 ? 1 : 0) {
            digits.insert(",", at: at)
            at -= 3
        }
        return String(digits)
    }
}
