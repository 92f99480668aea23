/// The redirects of one request to a source so far, and what the next request still carries.
///
/// The transport follows no redirect by itself: it would let headers cross origins, and it cannot
/// forbid the step from https to http.
package struct Redirection: Sendable, Hashable {
    /// The greatest number of hops.
    package static let limit = 10

    /// The URL of the next request.
    package private(set) var url: SourceURL
    /// Whether a redirect entered another origin.
    ///
    /// From then on no request carries anything of the manifest, not even when a later hop leads
    /// back.
    package private(set) var hasLeftOrigin = false
    /// Whether the next request still carries the body of a POST.
    package private(set) var isPost: Bool
    /// The number of redirects followed.
    package private(set) var hops = 0
    private var cookies = CookieJar()

    /// Begins at a source.
    package init(url: SourceURL, isPost: Bool) {
        self.url = url
        self.isPost = isPost
    }

    /// The cookies that the next request carries, as the value of its field; nil for none.
    package var cookie: String? { cookies.field(forPath: url.path) }

    /// Follows one redirect; throws the reason when it must not be followed.
    ///
    /// - Parameters:
    ///   - head: the response, whose cookies go along.
    ///   - location: where it leads, as the text of a URL reference.
    package mutating func follow(
        _ head: ResponseHead, to location: String, at now: Instant
    ) throws(Refusal) {
        let status = head.status
        guard hops < Redirection.limit else {
            throw Refusal(
                .tooManyRedirects, "the server redirected more than \(Redirection.limit) times",
                status: status)
        }
        let next: SourceURL
        do { next = try SourceURL(location, relativeTo: url) } catch {
            throw refused("to an address that cannot be read", status)
        }
        guard next.scheme != .file else { throw refused("to a file", status) }
        guard url.scheme == .http || next.scheme == .https else {
            throw refused("from https to http", status)
        }
        let crosses = next.origin != url.origin
        if isPost {
            if status == 307 || status == 308 {
                guard !crosses else { throw refused("a POST to another origin", status) }
            } else {
                isPost = false
            }
        }
        if crosses {
            hasLeftOrigin = true
            cookies = CookieJar()
        } else {
            cookies.take(head, from: url, at: now)
        }
        hops += 1
        url = next
    }

    /// A Location as browsers read it, as the text of a URL reference.
    ///
    /// Servers send spaces, quotes, bars and bytes beyond ASCII as they are, which RFC 3986 does not
    /// allow; behind the authority they are percent-encoded. A backslash is a slash there.
    package static func text(of location: ArraySlice<UInt8>) -> String {
        let question = UInt8(ascii: "?")
        let end = authorityEnd(location)
        var text = String(decoding: location[..<end], as: UTF8.self)
        var isQuery = false
        for at in end..<location.endIndex {
            let byte = location[at]
            isQuery = isQuery || byte == question
            switch byte {
            case UInt8(ascii: "\\") where !isQuery: text += "/"
            case UInt8(ascii: "%") where Hex.decode(location[(at + 1)...].prefix(2))?.count != 1:
                text += "%25"
            case 0x00...0x20, 0x7F...0xFF, UInt8(ascii: "\""), UInt8(ascii: "<"),
                UInt8(ascii: ">"), UInt8(ascii: "\\"), UInt8(ascii: "^"), UInt8(ascii: "`"),
                UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"), UInt8(ascii: "["),
                UInt8(ascii: "]"):
                text += "%" + Hex.encode([byte]).uppercased()
            default: text.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return text
    }

    /// Where the scheme and the authority of a reference end; its start where it has none.
    private static func authorityEnd(_ text: ArraySlice<UInt8>) -> Int {
        let slash = UInt8(ascii: "/")
        let ends = [slash, UInt8(ascii: "?"), UInt8(ascii: "#")]
        var start = text.startIndex
        if let colon = text.firstIndex(of: UInt8(ascii: ":")),
            !text[..<colon].contains(where: ends.contains)
        {
            start = colon + 1
        }
        guard text[start...].starts(with: [slash, slash]) else { return start }
        return text[(start + 2)...].firstIndex(where: ends.contains) ?? text.endIndex
    }

    private func refused(_ what: String, _ status: Int) -> Refusal {
        Refusal(.redirectRefused, "the server redirects \(what)", status: status)
    }
}

extension ResponseHead {
    /// Where a redirect leads, as the text of a URL reference; nil where there is no Location, an
    /// empty one, or several that differ.
    package var redirectLocation: String? {
        guard has(.location), let first = values(of: .location).first,
            values(of: .location).allSatisfy({ $0 == first }), !first.isEmpty
        else { return nil }
        return Redirection.text(of: first[...])
    }
}
