internal import MirrorTestSupport

/// JSON texts as a careful writer makes them.
enum JSONText {
    /// A text in quotation marks, everything but plain ASCII escaped where it must be.
    static func quoted(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22, 0x5C: out += "\\" + String(scalar)
            case 0..<0x20:
                let digits = String(scalar.value, radix: 16)
                out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}

/// XML texts as a careful writer makes them.
enum XMLText {
    /// Whether XML 1.0 can carry a text at all (§2.2).
    static func isAllowed(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy {
            $0.value >= 0x20 || [9, 10, 13].contains($0.value)
        } && !text.unicodeScalars.contains { $0.value == 0xFFFE || $0.value == 0xFFFF }
    }

    /// A text for an attribute or an element.
    static func escaped(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            case "\t", "\n", "\r": out += "&#\(scalar.value);"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}
