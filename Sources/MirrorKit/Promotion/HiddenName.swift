internal import MirrorModel

/// Names beside a target that mirror uses for moments: `.<name>.mirror-<32 hexadecimal digits>`.
enum HiddenName {
    /// A name that nothing has.
    static func fresh(for target: Target) -> String {
        ".\(target.name.prefix(bytes: 160)).mirror-\(RandomBytes.hex(16))"
    }
}
