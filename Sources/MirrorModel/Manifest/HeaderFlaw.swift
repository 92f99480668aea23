/// Why a name and a value cannot be a header of a request.
public enum HeaderFlaw: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name is not a token (RFC 9110 §5.6.2).
    case name(String)
    /// mirror sets a header of this name itself.
    case reserved(String)
    /// The value has a line break, which would begin another header.
    case lineBreak
    /// The value has another control character.
    case controlCharacter

    /// The error and its remedy, as the end of a sentence.
    public var description: String {
        switch self {
        case .name(let name): "\(Quoted(name)) is not a header name; use letters, digits and -"
        case .reserved(let name): "mirror sets \(Escaped(name, limit: 80)) itself; leave it out"
        case .lineBreak: "the value has a line break; write it on one line"
        case .controlCharacter: "the value has a control character"
        }
    }

    /// Whether the name is wrong, and not the value.
    package var isOfName: Bool {
        switch self {
        case .name, .reserved: true
        case .lineBreak, .controlCharacter: false
        }
    }

    /// The flaw of a header's name; nil when it is sound.
    package static func ofName(_ name: String) -> HeaderFlaw? {
        guard Token.isToken(name.utf8) else { return .name(name) }
        let lowercase = name.lowercased()
        let isReserved =
            reservedNames.contains(lowercase) || lowercase.utf8.starts(with: "if-".utf8)
            || lowercase.utf8.starts(with: "proxy-".utf8)
        return isReserved ? .reserved(name) : nil
    }

    /// The flaw of a header's value; nil when it is sound.
    package static func ofValue(_ value: String) -> HeaderFlaw? {
        for scalar in value.unicodeScalars {
            switch scalar.value {
            case 0x0A, 0x0D: return .lineBreak
            case 0x09: continue
            case 0..<0x20, 0x7F..<0xA0: return .controlCharacter
            default: continue
            }
        }
        return nil
    }

    private static let reservedNames: Set<String> = [
        "range", "accept-encoding", "host", "content-length", "transfer-encoding", "te", "trailer",
        "connection", "upgrade", "expect",
    ]
}

extension HeaderField {
    /// Whether two names are the same field: ASCII letters match in either case (RFC 9110 §5.1).
    public func isNamed(_ other: String) -> Bool {
        name.utf8.count == other.utf8.count
            && zip(name.utf8, other.utf8).allSatisfy {
                $0 == $1 || ASCII.lower($0) == ASCII.lower($1)
            }
    }

    /// The name as a key: equal for two names of the same field.
    var key: String { name.lowercased() }
}

extension [HeaderField] {
    /// These fields overlaid with others, which win where names are the same.
    public func overlaid(with others: [HeaderField]) -> [HeaderField] {
        if others.isEmpty { return self }
        if others.count <= 8 {
            return filter { field in !others.contains { $0.isNamed(field.name) } } + others
        }
        let names = Set(others.map(\.key))
        return filter { !names.contains($0.key) } + others
    }
}

/// Rules for ASCII letters, without regard to any language.
enum ASCII {
    static func lower(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
