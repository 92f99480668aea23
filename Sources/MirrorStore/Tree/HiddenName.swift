internal import MirrorModel
internal import MirrorSystem

/// Names beside a target that mirror uses for moments: `.<name>.mirror-<32 hexadecimal digits>`.
enum HiddenName {
    /// A name that nothing has.
    static func fresh(for target: Target) -> String {
        ".\(target.name.prefix(bytes: 160)).mirror-\(RandomBytes.hex(16))"
    }

    /// Whether a file name is of this kind.
    static func isHidden(_ name: String) -> Bool {
        let mark = Array(name.utf8.suffix(40))
        return name.utf8.first == UInt8(ascii: ".") && mark.starts(with: ".mirror-".utf8)
            && Hex.decode(mark.dropFirst(8)) != nil
    }
}
