/// Where a server listens: an address of this machine and a port.
public struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IPv4 or IPv6 address, without brackets.
    public var host: String
    /// The port; 0 is any free one.
    public var port: UInt16

    /// Takes an address and a port.
    public init(host: String = "127.0.0.1", port: UInt16 = 8080) {
        self.host = host
        self.port = port
    }

    /// Reads `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`; nil for other text.
    ///
    /// Names other than localhost are not resolved.
    public init?(_ text: String) {
        guard let (host, port) = text[...].halves(atLast: ":"), let number = UInt16(port),
            port.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        if host.hasPrefix("["), host.hasSuffix("]") {
            self.init(host: String(host.dropFirst().dropLast()), port: number)
            guard self.host.utf8.contains(UInt8(ascii: ":")) else { return nil }
        } else {
            self.init(host: host == "localhost" ? "127.0.0.1" : String(host), port: number)
            let isNumeric = self.host.utf8.allSatisfy {
                (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".")
            }
            guard isNumeric, !host.isEmpty else { return nil }
        }
    }

    /// The address as it stands in a URL.
    public var description: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Whether only programs on this machine can reach the address.
    ///
    /// An IPv6 address has many spellings, such as `0:0:0:0:0:0:0:1` (RFC 4291 §2.2).
    public var isLoopback: Bool {
        if host.hasPrefix("127.") { return true }
        guard host.utf8.contains(UInt8(ascii: ":")), host.utf8.last == UInt8(ascii: "1") else {
            return false
        }
        // All digits but the last are zeros.
        return host.utf8.dropLast().allSatisfy {
            $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: ":")
        }
    }
}
