internal import CLinux
internal import MirrorModel

/// Whether the network is metered, as NetworkManager says.
package enum NetworkMetering: Sendable, Hashable {
    /// Bytes cost money, or are believed to.
    case metered
    /// They do not.
    case unmetered
    /// NetworkManager could not be asked; the reason, fit to be shown.
    case unknown(String)

    /// Asks NetworkManager over D-Bus; blocks for a second at most.
    ///
    /// The values are those of `NMMetered` in NetworkManager's D-Bus API: 1 is yes, 3 a guess that
    /// it is.
    package static func read() -> NetworkMetering {
        var value: UInt32 = 0
        var problem = [CChar](repeating: 0, count: 256)
        guard linux_network_metered(&value, &problem, problem.count) == 0 else {
            let bytes = problem.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            return .unknown(Escaped(String(decoding: bytes, as: UTF8.self), limit: 200).description)
        }
        return value == 1 || value == 3 ? .metered : .unmetered
    }
}
