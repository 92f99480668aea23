@testable import MirrorKit

/// What holds of every text that a person, a manifest or a URL gives.
enum TextProperties {
    static let parsers = [
        FuzzedParser(text: "integrity", longest: 256, dictionary: "texts", integrity),
        FuzzedParser(text: "target", longest: 384, dictionary: "texts", target),
        FuzzedParser(text: "url", longest: 256, dictionary: "texts", url),
        FuzzedParser(text: "template", longest: 96, dictionary: "texts", template),
        FuzzedParser(text: "duration", longest: 48, dictionary: "texts", duration),
        FuzzedParser(text: "size", longest: 48, dictionary: "texts", size),
        FuzzedParser("control", longest: 512, dictionary: "json", control),
        FuzzedParser("followed-event", longest: 512, dictionary: "json", followedEvent),
        FuzzedParser(text: "grant", longest: 128, dictionary: "texts", grant),
    ]

    /// A request that was understood is the same when it is sent on.
    private static let control: @Sendable ([UInt8]) -> String? = { bytes in
        guard let request = try? ControlRequest(line: bytes) else { return nil }
        let line = request.line
        return firstFlaw(
            (line.last == UInt8(ascii: "\n"), "no line break"),
            (line.dropLast().allSatisfy { $0 != UInt8(ascii: "\n") }, "two lines"),
            ((try? ControlRequest(line: Array(line.dropLast()))) == request, "another request"))
    }

    /// Whatever another process sends, it is an event that can be shown, a reply, or nothing.
    private static let followedEvent: @Sendable ([UInt8]) -> String? = { bytes in
        if let reply = ControlReply(line: bytes),
            ControlReply(line: Array(reply.line.dropLast())) == nil
        {
            return "a reply that cannot be read again"
        }
        guard let event = Event(line: bytes) else { return nil }
        var json = JSONWriter()
        event.write(to: &json, alwaysWithTotals: true)
        let again = Event(line: json.take())
        return again == nil ? "an event that cannot be read again" : nil
    }

    private static let integrity: @Sendable (String) -> String? = { text in
        guard let digest = try? Digest(integrity: text) else { return nil }
        let again = digest.integrity
        return firstFlaw(
            (digest.bytes.count == digest.algorithm.byteCount, "a length"),
            ((try? Digest(integrity: again)) == digest, "printed: \(again)"),
            (Digest(digest.algorithm, hex: digest.hex) == digest, "in hex: \(digest.hex)"))
    }

    private static let target: @Sendable (String) -> String? = { text in
        do throws(TargetError) {
            let target = try Target(text)
            let folder = target.folder + "/" + target.name
            return TargetProperties.flaw(in: text)
                ?? firstFlaw(
                    (target.path.utf8.elementsEqual(text.utf8), "changed"),
                    (folder.utf8.elementsEqual(text.utf8), "folder and name: \(folder)"),
                    (text.utf8.starts(with: target.area.rawValue.utf8), "the area"),
                    (!(target.fileExtension?.isEmpty ?? false), "an empty extension"),
                    (
                        ConflictCopy.make(for: target, at: Instant(seconds: 1_700_000_000)).map {
                            TargetProperties.flaw(in: $0.path) == nil && $0.folder == target.folder
                        } ?? true, "the name of a conflict"
                    ))
        } catch {
            guard case .outsideAreas(let suggestion?) = error.reason else { return nil }
            let shown = error.description.unicodeScalars.allSatisfy { $0.value >= 0x20 }
            let isTarget = (try? Target(suggestion)) != nil
            return firstFlaw((shown, "unprintable"), (isTarget, "suggests \(suggestion.printable)"))
        }
    }

    private static let url: @Sendable (String) -> String? = { text in
        let base = try? SourceURL("https://user@h.example/a/b/c?d")
        for base in [nil, base, SourceURL(folder: "/srv/lists")] {
            let url: SourceURL
            do throws(SourceURLError) { url = try SourceURL(text, relativeTo: base) } catch {
                let isPrintable = error.description.unicodeScalars.allSatisfy { $0.value >= 0x20 }
                if !isPrintable { return "unprintable: \(error)" }
                continue
            }
            if let flaw = flaw(in: url, base) { return "\(url): \(flaw)" }
        }
        return nil
    }

    private static func flaw(in url: SourceURL, _ base: SourceURL?) -> String? {
        let segments = url.path.utf8.split(separator: 0x2F, omittingEmptySubsequences: false)
        let dots = [".", "..", "%2e", "%2e%2e", ".%2e", "%2e."].map { Array($0.utf8) }
        let isPlain = segments.allSatisfy { segment in
            !dots.contains(segment.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 })
        }
        let host = url.host.utf8
        let reference = url.reference(from: base)
        return firstFlaw(
            (url.requestText.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "not plain ASCII"),
            (url.path.utf8.first == 0x2F && isPlain, "a dot segment"),
            (!host.contains { "/?#@%\\[] ".utf8.contains($0) }, "the host \(url.host)"),
            (url.scheme != .file || (host.isEmpty && url.query == nil), "a file on a host"),
            ((try? SourceURL(url.textWithSecrets)) == url, "printed: \(url.textWithSecrets)"),
            ((try? SourceURL(reference, relativeTo: base)) == url, "reference \(reference)"),
            (
                url.userInfo == nil || !url.requestText.utf8.contains(0x40)
                    || url.path.utf8.contains(0x40) || url.query?.utf8.contains(0x40) ?? false,
                "a password in what is requested"
            ),
            (
                url.scheme != .file
                    || url.filePath.flatMap { SourceURL(file: $0)?.filePath } == url.filePath,
                "another file"
            ),
            (
                url.lastSegment.map { name in
                    !name.isEmpty && !name.utf8.contains(0x2F) && name != "." && name != ".."
                } ?? true, "the last segment"
            ))
    }

    private static let template: @Sendable (String) -> String? = { text in
        guard let template = try? Template(text) else { return nil }
        let filled = template.filled { _ in "" }
        return firstFlaw(
            ((try? Template(template.description)) == template, "printed: \(template)"),
            (template.variables.allSatisfy { Template.isName($0) }, "a name"),
            (template.filled { _ in nil } == nil || template.isLiteral, "filled with nothing"),
            ((filled?.utf8.count ?? 0) <= text.utf8.count, "longer than it was"))
    }

    private static let duration: @Sendable (String) -> String? = { text in
        let length = DurationText(text: text)?.seconds ?? 0
        let refresh = Refresh(text)
        var isPositive = true
        if case .after(let time) = refresh {
            isPositive = time.wholeSeconds > 0 && time.wholeSeconds == length
        }
        let limit = DeleteLimit(text: text)
        return firstFlaw(
            ((0...3_155_760_000_000).contains(length), "\(length) s"),
            (isPositive, "another refresh: \(String(describing: refresh))"),
            (refresh.map { Refresh($0.description) == $0 } ?? true, "printed"),
            (!DurationText(seconds: length).description.isEmpty, "nothing to print"),
            (limit?.allows(removals: 0, owned: 1, resources: 1) ?? true, "not even nothing"))
    }

    private static let size: @Sendable (String) -> String? = { text in
        guard let size = ByteCount(text: text) else { return nil }
        return firstFlaw(
            (size.bytes >= 0, "\(size.bytes) bytes"),
            (ByteCount(text: String(size.bytes)) == size, "as a number"),
            (!size.description.isEmpty, "nothing to print"))
    }

    private static let grant: @Sendable (String) -> String? = { text in
        guard let grant = try? Grant(text) else { return nil }
        return firstFlaw(
            (Template.isName(grant.name), "the name \(grant.name)"),
            (grant.origin.map { $0.scheme != .file && !$0.host.isEmpty } ?? true, "the origin"))
    }
}
