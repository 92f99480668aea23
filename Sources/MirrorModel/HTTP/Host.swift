/// A host as limits, Retry-After and outages know it.
///
/// It is the name and port of the URL that is really requested, also after redirects.
package struct Host: Hashable, Sendable, CustomStringConvertible {
    package let name: String
    package let port: UInt16

    package init(_ url: SourceURL) {
        name = url.host
        port = url.port
    }

    package init(_ origin: Origin) {
        name = origin.host
        port = origin.port
    }

    /// The host of transfers that request no server.
    static let none = Host(Origin(scheme: .file, host: "", port: 0))

    /// Reads the text that `description` writes; nil for other text.
    package init?(_ text: String) {
        guard let (name, port) = text[...].halves(atLast: ":"), let number = UInt16(port),
            !name.isEmpty
        else { return nil }
        self.name = String(name)
        self.port = number
    }

    /// `name:port`, as an error names it.
    package var description: String { "\(name):\(port)" }
}
