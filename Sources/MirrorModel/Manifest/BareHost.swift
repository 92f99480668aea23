/// A URL without its scheme, `www.example.com/x`, which a URL's grammar takes for a relative path.
package enum BareHost {
    /// The host, with its port, that a reference begins with; nil when it begins with none.
    ///
    /// A text is a host if it has a port, begins with `www.`, or ends in a domain that no folder name has.
    package static func find(in reference: String) -> String? {
        if reference.utf8.first == UInt8(ascii: "/") { return nil }
        let start = reference.parts(at: "/").first ?? ""
        // Text before an @ may be a password, which no message may show.
        if start.utf8.contains(UInt8(ascii: "@")) { return nil }
        let isFolder = start.utf8.count < reference.utf8.count
        let (host, port) = start.halves(atLast: ":") ?? (start, "")
        let isPort = !port.isEmpty && port.utf8.allSatisfy { (0x30...0x39).contains($0) }
        let lowered = host.lowercased()
        if isPort, lowered == "localhost" || lowered.utf8.contains(UInt8(ascii: ".")) {
            return String(start)
        }
        guard isFolder, port.isEmpty else { return nil }
        return Array(lowered.utf8).withUnsafeBufferPointer { isHost($0) } ? String(start) : nil
    }

    /// Whether the first component of a path, which has more of them, looks like a host; in lower case.
    static func isHost(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return false }
        if name.starts(with: "www.".utf8) { return dot > 3 }
        let domain = name[(dot + 1)...]
        return domains.contains { domain.elementsEqual($0) }
    }

    private static let domains: [[UInt8]] = ["com", "org", "net", "edu", "gov", "io", "dev"]
        .map { Array($0.utf8) }
}
