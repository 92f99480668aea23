internal import MirrorModel

/// Names in lists of sha256sum(1), which has escapes for three characters.
enum SumsEscapes {
    /// `\\`, `\n` and `\r` as what they stand for.
    static func unescaped(_ name: String) -> String {
        var bytes: [UInt8] = []
        var isEscape = false
        for byte in name.utf8 {
            if isEscape {
                isEscape = false
                bytes.append(
                    byte == UInt8(ascii: "n") ? 0x0A : byte == UInt8(ascii: "r") ? 0x0D : byte)
            } else if byte == UInt8(ascii: "\\") {
                isEscape = true
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The name with escapes; nil if it needs none.
    ///
    /// A line whose name has escapes begins with a backslash.
    static func escaped(_ name: String) -> String? {
        guard name.utf8.contains(where: { [0x0A, 0x0D, UInt8(ascii: "\\")].contains($0) }) else {
            return nil
        }
        var text = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\\": text += "\\\\"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

/// Paths in the lists of a BagIt bag, in which three characters are percent-encoded (RFC 8493 §2.1.3).
package enum BagEscapes {
    private static let characters: [(code: String, scalar: Unicode.Scalar)] = [
        ("0A", "\n"), ("0D", "\r"), ("25", "%"),
    ]

    /// A path in which only `%0A`, `%0D` and `%25` stand for something.
    static func decoded(_ path: String) -> String {
        guard path.utf8.contains(UInt8(ascii: "%")) else { return path }
        var text = ""
        var rest = path[...]
        while let (before, after) = rest.halves(atFirst: "%") {
            let code = after.prefix(2).uppercased()
            let scalar = characters.first { $0.code == code }?.scalar
            text += before
            text.unicodeScalars.append(scalar ?? "%")
            rest = scalar == nil ? after : after.dropFirst(2)
        }
        return text + rest
    }

    /// A path as a bag's lists write it.
    package static func encoded(_ path: String) -> String {
        var text = ""
        for scalar in path.unicodeScalars {
            if let code = characters.first(where: { $0.scalar == scalar })?.code {
                text += "%" + code
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
