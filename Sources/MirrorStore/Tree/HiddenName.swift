internal import MirrorModel
internal import MirrorSystem

/// Short-lived names beside a target: `.<name>.mirror-<32 hexadecimal digits>`.
enum HiddenName {
    /// A name that no other file has.
    static func fresh(for target: Target) -> String {
        String(joining: ".", target.name.prefix(bytes: 160), ".mirror-", RandomBytes.hex(16))
    }

    /// The path of such a name.
    static func freshPath(for target: Target) -> String {
        String(joining: target.folder, "/", fresh(for: target))
    }

    /// Whether a file name has this form.
    static func isHidden(_ name: String) -> Bool {
        let mark = Array(name.utf8.suffix(40))
        return name.utf8.first == UInt8(ascii: ".") && mark.starts(with: ".mirror-".utf8)
            && Hex.decode(mark.dropFirst(8)) != nil
    }
}
