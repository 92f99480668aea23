/// Text from a server made safe for a terminal and a log line.
enum Printable {
    /// In double quotes, with control and invisible characters as `\u{…}`, and cut after 80.
    static func quoted(_ text: String) -> String {
        var result = "\""
        for (count, scalar) in text.unicodeScalars.enumerated() {
            if count == 80 {
                result += "…"
                break
            }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
                .unassigned:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
