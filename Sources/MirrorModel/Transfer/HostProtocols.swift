/// What the answers of a host have shown about the protocols that it speaks over TLS.
///
/// Without it, mirror asks for long bodies over HTTP/1.1, and for all others over the protocol that
/// TLS negotiates (RFC 7301).
package struct HostProtocols: Sendable, Hashable {
    /// Whether it refused HTTP/1.1: each request then uses the protocol that TLS negotiates.
    package var refusesHTTP1: Bool
    /// Whether its requests must not share a connection, so that they use HTTP/1.1.
    ///
    /// Some connections of the host speak HTTP/2 and others HTTP/1.1, or its bodies over HTTP/2 have
    /// no length, and then their end does not prove that they are complete.
    package var forbidsSharing: Bool

    /// Takes what is known; by default that is nothing.
    package init(refusesHTTP1: Bool = false, forbidsSharing: Bool = false) {
        self.refusesHTTP1 = refusesHTTP1
        self.forbidsSharing = forbidsSharing
    }

    /// Whether each request needs a connection of its own, because HTTP/1.1 is refused too.
    package var isAlone: Bool { refusesHTTP1 && forbidsSharing }

    /// Adds what another answer has shown.
    package mutating func learn(_ other: HostProtocols) {
        refusesHTTP1 = refusesHTTP1 || other.refusesHTTP1
        forbidsSharing = forbidsSharing || other.forbidsSharing
    }
}
