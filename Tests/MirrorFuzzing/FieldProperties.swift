@testable import MirrorKit

/// What holds of every value of a header field, whatever a server sends.
enum FieldProperties {
    static let parsers = [
        FuzzedParser(text: "content-range", longest: 96, dictionary: "fields", contentRange),
        FuzzedParser(text: "entity-tag", longest: 96, dictionary: "fields", entityTag),
        FuzzedParser(text: "http-date", longest: 64, dictionary: "fields", date),
        FuzzedParser("retry-after", longest: 128, dictionary: "fields", retryAfter),
        FuzzedParser("content-disposition", longest: 256, dictionary: "fields", disposition),
        FuzzedParser("cache-control", longest: 192, dictionary: "fields", cacheControl),
        FuzzedParser("repr-digest", longest: 320, dictionary: "fields", reprDigest),
        FuzzedParser(text: "media-type", longest: 96, dictionary: "fields", mediaType),
        FuzzedParser(text: "location", longest: 256, dictionary: "fields", location),
    ]

    private static let contentRange: @Sendable (String) -> String? = { text in
        guard let range = ContentRange(text) else { return nil }
        switch range {
        case .bytes(let first, let last, let total):
            let again = "bytes \(first)-\(last)/\(total.map(String.init) ?? "*")"
            return firstFlaw(
                (0 <= first && first <= last && last < total ?? .max, "\(range)"),
                (ContentRange(again) == range, "printed: \(again)"))
        case .unsatisfied(let total):
            return firstFlaw(
                (total >= 0, "\(range)"), (ContentRange("bytes */\(total)") == range, "printed"))
        }
    }

    private static let entityTag: @Sendable (String) -> String? = { text in
        guard let tag = EntityTag(text) else { return nil }
        return firstFlaw(
            (tag.text.utf8.elementsEqual(text.utf8), "changed"),
            (tag.isWeak == text.utf8.starts(with: "W/".utf8), "weak"),
            (
                text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }, "a control character or a space"
            ),
            (text.utf8.filter { $0 == 0x22 }.count == 2, "a quotation mark inside"))
    }

    private static let date: @Sendable (String) -> String? = { text in
        guard let date = HTTPDate(text) else { return nil }
        let year0000 = Int64(-62_167_219_200)
        let year10000 = Int64(253_402_300_800)
        return firstFlaw(
            ((year0000..<year10000).contains(date.seconds), "\(date.seconds) s"),
            (HTTPDate(date.description) == date, "printed: \(date)"),
            (date.description.utf8.count == 29, "printed in another length: \(date)"))
    }

    /// The first line is Retry-After's, the second Date's.
    private static let retryAfter: @Sendable ([UInt8]) -> String? = { bytes in
        let head = head(bytes, [.retryAfter, .date])
        for now in [Instant(milliseconds: .min), Instant(seconds: 1_700_000_000)] {
            guard let seconds = head.retryAfter(now: now) else { continue }
            if seconds < 0 { return "\(seconds) s" }
        }
        return nil
    }

    private static let disposition: @Sendable ([UInt8]) -> String? = { bytes in
        guard let name = head(bytes, [.contentDisposition]).suggestedName else { return nil }
        let isSound = (try? Target("Caches/" + name)) != nil
        return firstFlaw(
            (!name.isEmpty && name != "." && name != "..", "no name"),
            (!name.utf8.contains { $0 == 0x2F || $0 == 0x5C }, "a separator"),
            (
                isSound || name.utf8.count > 255
                    || name.unicodeScalars.contains {
                        $0.value < 0x20 || (0x7F..<0xA0).contains($0.value)
                    }, "a sound name that is no target"
            ))
    }

    /// The lines are those of Cache-Control, Expires, Age and Date.
    private static let cacheControl: @Sendable ([UInt8]) -> String? = { bytes in
        let names: [HeaderName] = [.cacheControl, .expires, .age, .date]
        let head = head(bytes, names)
        let control = head.cacheControl
        if let age = control.maxAge, age < 0 { return "max-age \(age)" }
        for received in [Instant(seconds: 1_700_000_000), Instant(milliseconds: .max)] {
            guard let end = head.freshUntil(received: received) else { continue }
            if end < received { return "fresh until before it came" }
            if control.alwaysConfirms, end != received { return "fresh, though no-cache" }
        }
        return nil
    }

    private static let reprDigest: @Sendable ([UInt8]) -> String? = { bytes in
        let digests = head(bytes, [.reprDigest]).reprDigests
        let text = digests.map { digest in
            let value = digest.integrity.drop { $0 != "-" }.dropFirst()
            return (digest.algorithm == .sha256 ? "sha-256" : "sha-512") + "=:\(value):"
        }
        return firstFlaw(
            (digests.allSatisfy { $0.bytes.count == $0.algorithm.byteCount }, "a length"),
            (digests.map(\.algorithm) == digests.map(\.algorithm).sorted(by: >), "the order"),
            (digests.allSatisfy { $0.algorithm == .sha256 || $0.algorithm == .sha512 }, "weak"),
            (
                head(Array(text.joined(separator: ", ").utf8), [.reprDigest]).reprDigests
                    == digests,
                "printed: \(text)"
            ))
    }

    private static let mediaType: @Sendable (String) -> String? = { text in
        guard let range = MediaRange(text) else { return nil }
        return firstFlaw(
            (MediaRange(range.description) == range, "printed: \(range)"),
            (range.contains(text), "\(range) does not contain itself"),
            (range.contains(text + "; charset=utf-8"), "a parameter matters"))
    }

    /// Where a redirect leads: never to a file, nor from https to http, nor with a header across
    /// origins.
    private static let location: @Sendable (String) -> String? = { text in
        for base in ["https://a.example/x/y?z", "http://a.example:8080/x"] {
            guard let url = try? SourceURL(base) else { return "no URL: \(base)" }
            for status in [301, 302, 303, 307, 308] {
                var way = Redirection(url: url, isPost: status != 302)
                do throws(ResponseError) {
                    try way.follow(
                        ResponseHead(status: status), to: text, at: Instant(milliseconds: 0))
                } catch {
                    continue
                }
                let isPostAcross = way.isPost && way.url.origin != url.origin
                if let flaw = firstFlaw(
                    (way.url.scheme != .file, "to a file"),
                    (url.scheme == .http || way.url.scheme == .https, "down to http"),
                    (way.hasLeftOrigin == (way.url.origin != url.origin), "headers go along"),
                    (!isPostAcross, "a POST went to another origin"))
                {
                    return flaw
                }
            }
        }
        return nil
    }

    /// An answer with a field for each line of the bytes.
    private static func head(_ bytes: [UInt8], _ names: [HeaderName]) -> ResponseHead {
        let lines = bytes.split(
            separator: 0x0A, maxSplits: names.count - 1, omittingEmptySubsequences: false)
        var head = ResponseHead(status: 200)
        for (name, line) in zip(names, lines) { head.append(name, line) }
        return head
    }
}
