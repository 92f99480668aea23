import CCurl
import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Holds mirror's URL parser against libcurl's: a text that both read differently would send a request
/// to a host that nobody checked.
@Suite struct URLAgreementTests {
    /// What libcurl reads in a URL.
    private struct Reading: Equatable {
        var host = ""
        var port = ""
        var path = ""
        var query: String?
        var user: String?

        /// Nil when libcurl refuses the text.
        init?(_ text: String, flags: UInt32 = 0) {
            guard let handle = curl_url() else { return nil }
            defer { curl_url_cleanup(handle) }
            guard curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK else { return nil }
            func part(_ part: CURLUPart, _ flags: UInt32 = 0) -> String? {
                var text: UnsafeMutablePointer<CChar>?
                guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else {
                    return nil
                }
                defer { curl_free(text) }
                return String(cString: text)
            }
            host = part(CURLUPART_HOST) ?? ""
            port = part(CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)) ?? ""
            path = part(CURLUPART_PATH) ?? ""
            query = part(CURLUPART_QUERY)
            user = part(CURLUPART_USER)
        }
    }

    private static let schemes = ["http://", "https://", "HTTP://", "hTtPs://", "http:/", "http:"]
    private static let users = ["", "", "", "u@", "u:p@", "u:p:q@", "%40:%3A@", "@", ":@", "a@b@"]
    private static let hosts = [
        "h.example", "H.Example", "h.example.", "h", "127.0.0.1", "127.1", "0x7f.0.0.1",
        "0177.0.0.1", "2130706433", "1.2.3.4.", "256.1.1.1", "[::1]", "[::FFFF:1.2.3.4]",
        "[1:2:3:4:5:6:7:8]", "[::1%25lo]", "[fe80::1%eth0]", "[::1", "::1", "", "h%2Eexample",
        "h_x.example", "-h.example", "xn--mnchen-3ya.example", "münchen.example", "h\\evil",
        "h evil", "h\tevil", "h;evil", "h,evil", "h'evil", "h\"evil", "h|evil", "%68", "…",
        "h.example#@evil.example", "h.example?@evil.example", "h.example/@evil.example",
    ]
    private static let ports = ["", "", ":80", ":443", ":", ":0", ":00080", ":65536", ":8a"]
    private static let paths = [
        "", "/", "/a", "/a/../b", "/a/./b", "/%2e%2e/b", "/a%2Fb", "//evil.example/x", "/a//b",
        "/a;b=c", "/a:b@c", "/ä", "/a\\..\\b", "/%zz", "/a%", "/a b", "/\u{7f}", "/..", "/a/..",
    ]
    private static let tails = [
        "", "", "?", "?q", "?a=b&c=d", "?q=ä", "?a?b", "?q/../x", "#f", "?q#f",
    ]

    /// A host in lower case; an IPv6 address in the spelling that mirror uses, since it has several.
    private static func canonical(_ host: String) -> String {
        guard host.first == "[", host.last == "]" else { return host.lowercased() }
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address) == 1 else {
            return host
        }
        let words = withUnsafeBytes(of: address) { bytes in
            stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        }
        let text = words.map { String($0, radix: 16) }.joined(separator: ":")
        return (try? SourceURL("http://[\(text)]/")).map { "[\($0.host)]" } ?? host
    }

    @Test func acceptedTextsMeanTheSameToLibcurl() throws {
        var random = SplitMix64(seed: 3986)
        var accepted = 0
        for _ in 0..<40_000 {
            var text = ""
            for parts in [
                Self.schemes, Self.users, Self.hosts, Self.ports, Self.paths, Self.tails,
            ] {
                text += parts.randomElement(using: &random) ?? ""
            }
            if Int.random(in: 0..<4, using: &random) == 0 { text = damaged(text, using: &random) }
            guard let url = try? SourceURL(text), url.scheme != .file else { continue }
            accepted += 1
            expectAgreement(url, text)
        }
        #expect(accepted > 1000)
    }

    /// Replaces, inserts or removes one character that matters to parsers of URLs.
    private func damaged(_ text: String, using random: inout SplitMix64) -> String {
        var characters = Array(text.unicodeScalars)
        let marks = Array(
            "/\\:@?#%[].-_ \t\n;,&=+$!'()*~^`{}|<>\"09azAZ\u{e9}\u{200b}".unicodeScalars)
        let at = Int.random(in: 0..<characters.count, using: &random)
        let mark = marks[Int.random(in: 0..<marks.count, using: &random)]
        switch Int.random(in: 0..<3, using: &random) {
        case 0: characters[at] = mark
        case 1: characters.insert(mark, at: at)
        default: characters.remove(at: at)
        }
        return String(String.UnicodeScalarView(characters))
    }

    private func expectAgreement(_ url: SourceURL, _ text: String) {
        // What is requested: libcurl must find the same parts in it.
        guard let sent = Reading(url.requestText, flags: UInt32(CURLU_PATH_AS_IS)) else {
            Issue.record("libcurl refuses \(url.requestText.debugDescription)")
            return
        }
        let host = url.host.contains(":") ? "[\(url.host)]" : url.host
        #expect(sent.host == host, "\(text.debugDescription)")
        #expect(sent.port == String(url.port), "\(text.debugDescription)")
        #expect(sent.path == url.path, "\(text.debugDescription)")
        #expect((sent.query ?? "") == (url.query ?? ""), "\(text.debugDescription)")
        #expect(sent.user == nil, "\(text.debugDescription)")
        // What was written: where libcurl reads it at all, it must not find another server.
        guard let written = Reading(text) else { return }
        #expect(Self.canonical(written.host) == host, "\(text.debugDescription)")
        #expect(written.port == String(url.port), "\(text.debugDescription)")
    }
}
