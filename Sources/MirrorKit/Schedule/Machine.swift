internal import Glibc

/// The machine that mirror runs on, as distinct from others of the same kind.
package enum Machine {
    /// A text that hardly any other machine has, and that stays the same: its host name and
    /// machine-id(5).
    package static var identity: String {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        let host = String(
            decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return host + "\n" + ((try? ReplacedFile.text(at: "/etc/machine-id")) ?? "")
    }
}
