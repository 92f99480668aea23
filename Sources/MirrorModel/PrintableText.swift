extension StringProtocol {
    /// The text with control characters, and what turns a line's direction, written as `\u{…}`.
    ///
    /// Whatever a server or a manifest says goes through this before a terminal sees it.
    public var printable: String {
        var result = ""
        result.reserveCapacity(utf8.count)
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
