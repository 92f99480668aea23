/// A text that is not the address of a source, and why it is none.
public struct URLFlaw: Error, Sendable, Hashable {
    /// The text between quotation marks, without what may be secret in it.
    private let quoted: String
    /// Why it is none.
    public let reason: Reason

    init(_ text: String, _ reason: Reason) {
        (quoted, self.reason) = (QuotedURL(text).description, reason)
    }

    /// Why a text is not the address of a source.
    public enum Reason: Error, Sendable, Hashable {
        /// It is empty.
        case empty
        /// It has a scheme that is none of http, https and file.
        case scheme(String)
        /// It is relative, and there is no base to resolve it against.
        case relativeWithoutBase
        /// It has no host where http and https need one.
        case missingHost
        /// The host is not valid: a bad name, or a malformed address literal.
        case host(String)
        /// The host has characters outside ASCII; it must be written in its `xn--` form.
        case hostOutsideASCII(String)
        /// The port is not a number from 1 to 65535.
        case port(String)
        /// It has a character that must be percent-encoded, or that may not stand in a URL at all.
        case character(Unicode.Scalar)
        /// It has a `%` without two hexadecimal digits.
        case percent
        /// It is a `file` URL with a host, a relative path, or a path that no file can have.
        case file(String)
        /// It is longer than `SourceURL.longestText`.
        case long(bytes: Int)
    }
}

extension URLFlaw: CustomStringConvertible {
    /// The text, then the error and its remedy.
    public var description: String { "\(quoted): \(reason)" }
}

extension URLFlaw.Reason: CustomStringConvertible {
    /// The error and its remedy, as the end of a sentence.
    public var description: String {
        switch self {
        case .empty: "it is empty; write an http or https URL"
        case .scheme(let scheme):
            "\(Quoted(scheme)) is not a scheme that mirror fetches from; write https:// or http://"
        case .relativeWithoutBase:
            "it is relative and there is nothing to resolve it against; add a base or write it whole"
        case .missingHost: "it has no host; write https://host/path"
        case .host(let host): "\(Quoted(host)) is not a host name or an address"
        case .hostOutsideASCII(let host):
            "the host \(Quoted(host)) is not ASCII; write its xn-- form"
        case .port(let port): "the port \(Quoted(port)) is not a number from 1 to 65535"
        case .character(let scalar): Self.advice(on: scalar)
        case .percent: "it has a % without two hexadecimal digits; write %25 for a percent sign"
        case .file(let reason): reason
        case .long(let bytes):
            "it has \(bytes) bytes, more than the \(SourceURL.longestText) that mirror takes"
        }
    }

    private static func advice(on scalar: Unicode.Scalar) -> String {
        switch scalar.value {
        case 0x20: "it has a space; write %20"
        case 0x5C: "it has a backslash; write / between segments, or %5C"
        case 0..<0x20, 0x7F..<0xA0: "it has a control character"
        default: "it has a \(Quoted(String(scalar))); write \(PercentEncoding.encode(scalar))"
        }
    }
}
