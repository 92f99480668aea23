/// Checks the values that a text gives to keys, and converts them to their types.
///
/// If a value is wrong, a check logs the error with its correction, and returns nil, false or an
/// empty list. No check knows which resource the value is for.
final class ValueCheck {
    let log: DiagnosticLog
    let origin: ManifestOrigin

    init(log: DiagnosticLog, origin: ManifestOrigin) { (self.log, self.origin) = (log, origin) }

    /// Returns the text of a value. Returns nil for any other type, which is logged.
    ///
    /// - Parameter isSecret: whether the value may be a secret, which no correction shows.
    func text(
        _ value: WrittenValue, _ key: String, at place: TextPosition, isSecret: Bool = false
    ) -> String? {
        switch value {
        case .string(let text), .untyped(let text): return text
        case .number(let number):
            log.error(
                at: place, "\(key) is a number; write \"\(Escaped(number, limit: 40))\"",
                correction: isSecret ? nil : .written(number, "\"\(number)\""))
        default: log.error(at: place, "\(key) is \(value.kind); write a string")
        }
        return nil
    }

    func integer(_ value: WrittenValue, _ key: String, at place: TextPosition) -> Int64? {
        switch value {
        case .number(let text), .untyped(let text):
            if let number = Int64(text), text.utf8.first != UInt8(ascii: "+") { return number }
            let digits = text.utf8.first == UInt8(ascii: "-") ? text.dropFirst() : text[...]
            let isWhole = !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
            log.error(
                at: place,
                isWhole
                    ? "\(key) \(Escaped(text, limit: 40)) does not fit; \(Int64.max) is the most"
                    : "\(key) \(Quoted(text, limit: 40)) is not a whole number")
        case .string(let text):
            let number = Int64(text).map { "; write \($0) without quotes" } ?? "; write a number"
            log.error(
                at: place, "\(key) is the string \(Quoted(text, limit: 40))\(number)",
                correction: Int64(text).map { .written("\"\(text)\"", "\($0)") })
        default: log.error(at: place, "\(key) is \(value.kind); write a whole number")
        }
        return nil
    }

    func boolean(_ value: WrittenValue, _ key: String, at place: TextPosition) -> Bool {
        switch value {
        case .boolean(let value): return value
        case .untyped("true"): return true
        case .untyped("false"): return false
        case .untyped(let text):
            let lower = text.lowercased()
            log.error(
                at: place, "\(key) is \(Quoted(text, limit: 40)); write true or false",
                correction: ["true", "false"].contains(lower) ? .value(text, lower) : nil)
        case .string(let text) where text == "true" || text == "false":
            log.error(
                at: place, "\(key) is the string \"\(text)\"; write \(text) without quotes",
                correction: .written("\"\(text)\"", text))
        default: log.error(at: place, "\(key) is \(value.kind); write true or false")
        }
        return false
    }

    /// Returns a size or a length: a whole number that is not negative.
    func size(_ value: WrittenValue, _ key: String, at place: TextPosition) -> Int64? {
        guard let number = integer(value, key, at: place) else { return nil }
        if let flaw = ManifestRules.flaw(ofBytes: number) {
            log.error(at: place, "\(key) \(flaw)")
            return nil
        }
        return number
    }

    /// Returns a digest that is written in hexadecimal digits.
    func digest(
        _ algorithm: DigestAlgorithm, _ value: WrittenValue, _ key: String, at place: TextPosition
    ) -> Digest? {
        guard let text = text(value, key, at: place) else { return nil }
        do throws(DigestError) {
            return try Digest(algorithm, declared: text)
        } catch {
            log.error(
                at: place, "\(key) \(Quoted(text, limit: 40)): \(error)",
                correction: .digest(text, algorithm, error))
            return nil
        }
    }

    /// Returns the strongest digest of an `integrity`.
    func integrity(_ value: WrittenValue, at place: TextPosition) -> Digest? {
        guard let text = text(value, "integrity", at: place) else { return nil }
        do throws(IntegrityError) {
            return try Digest(integrity: text)
        } catch {
            log.error(at: place, "integrity \(Quoted(text, limit: 40)): \(error)")
            return nil
        }
    }

    func mediaType(_ value: WrittenValue, at place: TextPosition) -> MediaRange? {
        guard let text = text(value, "type", at: place) else { return nil }
        if let type = MediaRange(text) { return type }
        log.error(
            at: place,
            "type \(Quoted(text)) is no media type; write one such as application/json,"
                + " without parameters",
            correction: .mediaType(text))
        return nil
    }

    func priority(_ value: WrittenValue, at place: TextPosition) -> Int32? {
        guard let number = integer(value, "priority", at: place) else { return nil }
        if let priority = Int32(exactly: number) { return priority }
        log.error(
            at: place,
            "priority \(number) does not fit; write a number from \(Int32.min) to \(Int32.max)")
        return nil
    }

    func refresh(_ value: WrittenValue, at place: TextPosition) -> Refresh? {
        if case .number(let number) = value {
            let text = Escaped(number, limit: 40)
            log.error(at: place, "refresh is a number; write \"\(text)s\" for that many seconds")
            return nil
        }
        guard let text = text(value, "refresh", at: place) else { return nil }
        if let refresh = Refresh(text) { return refresh }
        log.error(
            at: place,
            "refresh \(Quoted(text)) is none of always, never, http and a duration such as 90s 15m"
                + " 6h 1d 2w",
            correction: Refresh(text.lowercased()).map { _ in .value(text, text.lowercased()) })
        return nil
    }

    /// Returns the tags in one text with spaces between them, as XML has them.
    func tags(_ value: WrittenValue, at place: TextPosition) -> TagList {
        guard case .untyped(let text) = value else {
            log.error(
                at: place, "tags is \(value.kind); write a list such as [\"large\"]",
                correction: .list(of: value))
            return TagList()
        }
        // The text is split at scalars, because a space with a combining mark behind it is one
        // Character.
        let words = text.unicodeScalars.split { [0x20, 0x09, 0x0A, 0x0D].contains($0.value) }
        return words.reduce(into: TagList()) { tags, word in
            addTag(.untyped(String(word)), to: &tags, at: place)
        }
    }

    /// Adds a tag, unless the list has it already.
    func addTag(_ value: WrittenValue, to tags: inout TagList, at place: TextPosition) {
        guard let tag = text(value, "a tag", at: place) else { return }
        if let flaw = ManifestRules.flaw(ofTag: tag) {
            log.error(at: place, flaw)
        } else {
            _ = tags.append(tag, key: tag)
        }
    }

    /// Adds a header. Logs an error if the list has a header of this name.
    func addHeader(
        _ name: String, _ value: WrittenValue, to headers: inout HeaderList,
        nameAt: TextPosition, valueAt: TextPosition
    ) {
        guard
            let text = text(
                value, "the header \(Quoted(name, limit: 40))", at: valueAt, isSecret: true)
        else { return }
        do {
            let field = try HeaderField(name: name, value: try Template(text))
            if !headers.append(field) {
                log.error(at: nameAt, ManifestRules.flaw(ofSecond: name))
            }
        } catch let flaw as HeaderError where flaw.isOfName {
            log.error(at: nameAt, "header: \(flaw)")
        } catch {
            log.error(at: valueAt, "header \(Quoted(name)): \(error)")
        }
    }

    /// The most headers or tags that a resource, or a mirror, may inherit and add to.
    ///
    /// Each resource has a copy, so without a limit memory would grow with the square of the text.
    static let mostInherited = 256

    /// Whether resources can inherit `count` values. Logs an error if they cannot.
    func canInherit(_ count: Int, _ noun: String, at place: TextPosition) -> Bool {
        if count <= Self.mostInherited { return true }
        log.error(
            at: place,
            "\(count) \(noun) to be inherited; \(Self.mostInherited) is the most. Write them where"
                + " they are needed")
        return false
    }

    func wrongKind(_ value: WrittenValue, _ key: String, at place: TextPosition) {
        let right =
            switch key {
            case "defaults", "headers", "pieces": "an object"
            case "resources", "mirrors", "tags": "a list"
            default: "a value"
            }
        log.error(
            at: place, "\(key) is \(value.kind); write \(right)",
            correction: key == "mirrors" ? .list(of: value) : nil)
    }
}

// MARK: URLs

extension ValueCheck {
    /// Reads a URL and checks that the manifest's origin allows it.
    func url(
        _ text: String, _ key: String, relativeTo base: SourceURL?, at place: TextPosition
    ) -> SourceURL? {
        let url: SourceURL
        if let host = BareHost.find(in: text)?.printable {
            log.error(
                at: place,
                "\(key) \(Quoted(url: text)): it has no scheme; write https://\(host)/…, or ./\(host)/…"
                    + " where a folder is meant")
            return nil
        }
        do throws(SourceURLError) {
            url = try SourceURL(text, relativeTo: base)
        } catch {
            log.error(
                at: place, "\(key) \(error)", correction: .url(text, error.reason))
            return nil
        }
        if url.scheme == .file, !origin.isFile {
            let what = origin.isRemote ? "came by URL" : "came by standard input"
            log.error(
                at: place,
                "\(key) \(Quoted(url: text)): a manifest that \(what) cannot name files; write https://"
            )
            return nil
        }
        guard url.userInfo != nil, origin.isRemote else { return url }
        // A relative URL has the user name and password that the user gave for the manifest itself.
        let isRelative = !text.hasPrefix("//") && (try? SourceURL(text)) == nil
        if !isRelative || base?.userInfo != url.userInfo {
            log.error(
                at: place,
                "\(key) \(Quoted(url.description)): a manifest that came by URL cannot give user"
                    + " names or passwords; use a header with ${NAME}, or a netrc file")
            return nil
        }
        return url
    }
}
