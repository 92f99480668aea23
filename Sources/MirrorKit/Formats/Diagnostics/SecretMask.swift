/// Hides text that may be a secret in the lines that a diagnostic shows.
///
/// Hidden are the values of headers, bodies and unknown keys, and the queries and passwords of
/// URLs. The mask knows a line and the one before it, not the manifest. It also hides a value whose
/// key it cannot know.
struct SecretMask {
    let kind: DiagnosedText.Kind
    /// The JSON key that the next value belongs to. `nil` means that the key is unknown.
    private var key: String?
    /// The last line, with a mark in place of each secret.
    private var masked: [Unicode.Scalar] = []
    /// For each scalar of the last line, its index in `masked`.
    private var places: [Int] = []

    init(kind: DiagnosedText.Kind) { self.kind = kind }

    /// The last line without secrets.
    var text: String { String(masked) }

    /// Converts a range of the last line to the matching range of `text`.
    func moved(_ range: Range<Int>) -> Range<Int> {
        let start = range.lowerBound < places.count ? places[range.lowerBound] : masked.count
        let end = range.upperBound < places.count ? places[range.upperBound] : masked.count
        // A hidden text has one mark, whatever its length.
        return start..<max(start + (range.isEmpty ? 0 : 1), end)
    }

    /// Masks a line. The lines must be passed in their order.
    mutating func mask(_ window: TextWindow) {
        (masked, places) = ([], [])
        let line = window.scalars
        switch kind {
        case .json:
            var start = 0
            if window.isCutBefore, beginsInsideText(window) {
                start = line.firstIndex(of: "\"") ?? line.count
                hide(line[..<start])
                // The key of the text that ended here is unknown, so the next value is hidden.
                if start < line.count { copy(line[start...start]) }
                start = min(start + 1, line.count)
                key = ""
            }
            maskJSON(line[start...])
        case .xml: maskXML(line, isCut: window.isCutBefore)
        case .list: maskList(line[...])
        }
    }

    private mutating func copy(_ line: ArraySlice<Unicode.Scalar>) {
        for scalar in line {
            places.append(masked.count)
            masked.append(scalar)
        }
    }

    private mutating func hide(_ line: ArraySlice<Unicode.Scalar>) {
        guard !line.isEmpty else { return }
        places += Array(repeating: masked.count, count: line.count)
        masked.append("…")
    }

    // MARK: JSON

    /// Whether a cut line begins inside a JSON text.
    ///
    /// The quotes before a token come in pairs. The quotes before a place within a text do not.
    private func beginsInsideText(_ window: TextWindow) -> Bool {
        let first = window.after.first ?? "\\"
        let isPlaceInside = first == "\\" || first.value < 0x20
        var quotes = 0
        for (number, scalar) in window.before.enumerated() where scalar == "\"" {
            let escapes = window.before[..<number].reversed().prefix { $0 == "\\" }.count
            if escapes % 2 == 0 { quotes += 1 }
        }
        return (quotes % 2 == 1) != isPlaceInside
    }

    private mutating func maskJSON(_ line: ArraySlice<Unicode.Scalar>) {
        var at = line.startIndex
        while at < line.endIndex {
            let scalar = line[at]
            switch scalar {
            case "\"", "'":
                let end = endOfText(line, from: at, scalar)
                let isClosed = end > at + 1 && line[end - 1] == scalar
                let inner = line[(at + 1)..<(isClosed ? end - 1 : end)]
                let next = line[end...].first { $0 != " " && $0 != "\t" }
                copy(line[at...at])
                if next == ":" {
                    key = String(inner)
                    copy(inner)
                } else if isShown(inner) {
                    maskURL(inner)
                } else {
                    hide(inner)
                }
                if isClosed { copy(line[(end - 1)..<end]) }
                at = end
            case "0"..."9", "-":
                let run = line[at...].prefix {
                    ("0"..."9").contains($0) || ".-+eE".unicodeScalars.contains($0)
                }
                if let key, !SecretMask.open.contains(key) {
                    hide(run)
                } else {
                    copy(run)
                }
                at = run.endIndex
            default:
                if scalar == "{" || scalar == "}" { key = nil }
                copy(line[at...at])
                at += 1
            }
        }
    }

    private func endOfText(
        _ line: ArraySlice<Unicode.Scalar>, from start: Int, _ quote: Unicode.Scalar
    ) -> Int {
        var at = start + 1
        while at < line.endIndex {
            if line[at] == quote { return at + 1 }
            at += line[at] == "\\" ? 2 : 1
        }
        return line.endIndex
    }

    /// Whether a value may be shown: its key is one of a manifest's own keys.
    ///
    /// Without a known key, only a URL may be shown.
    private func isShown(_ value: ArraySlice<Unicode.Scalar>) -> Bool {
        if let key { return SecretMask.open.contains(key) }
        return String(value).firstRange(of: "://") != nil
    }

    /// The keys whose values are no secrets.
    private static let open: Set<String> = {
        var keys = Set(ResourceKey.allCases.map(\.rawValue) + TopKey.allCases.map(\.rawValue))
        keys.formUnion(DefaultsKey.allCases.map(\.rawValue) + PiecesKey.allCases.map(\.rawValue))
        return keys.subtracting([ResourceKey.headers.rawValue, ResourceKey.body.rawValue])
    }()

    // MARK: XML

    private static let openElements: Set<String> = [
        "sha256", "hash", "size", "url", "metaurl", "language", "os", "version",
    ]

    private mutating func maskXML(_ line: [Unicode.Scalar], isCut: Bool) {
        let bracket = line.first { $0 == "<" || $0 == ">" }
        var isInTag = bracket == ">" || (bracket == nil && line.contains("="))
        var element = ""
        var at = 0
        // The line may begin inside an attribute's value.
        if let quote = line.firstIndex(where: { $0 == "\"" || $0 == "'" }), isInTag || isCut,
            quote == 0 || line[quote - 1] != "="
        {
            hide(line[..<quote])
            copy(line[quote...quote])
            (at, isInTag) = (quote + 1, true)
        }
        var name = ""
        while at < line.count {
            let scalar = line[at]
            if isInTag, scalar == "\"" || scalar == "'" {
                let end = line[(at + 1)...].firstIndex(of: scalar) ?? line.count
                copy(line[at...at])
                let isOpen = SecretMask.open.contains(name) || name == "name"
                if isOpen { maskURL(line[(at + 1)..<end]) }
                if !isOpen { hide(line[(at + 1)..<end]) }
                name = ""
                at = end
                if at < line.count { copy(line[at...at]) }
                at += 1
            } else if isInTag {
                if scalar == ">" { isInTag = false }
                let isName = scalar != " " && scalar != "\t" && scalar != "="
                if isName { name.unicodeScalars.append(scalar) }
                if scalar == " " || scalar == "\t" { name = "" }
                copy(line[at...at])
                at += 1
            } else if scalar == "<" {
                isInTag = true
                element = String(line[(at + 1)...].prefix { $0 != " " && $0 != ">" && $0 != "/" })
                copy(line[at...at])
                at += 1
            } else {
                let text = line[at...].prefix { $0 != "<" }
                let isBlank = text.allSatisfy { $0 == " " || $0 == "\t" }
                if isBlank { copy(text) }
                if !isBlank, SecretMask.openElements.contains(element) {
                    maskURLs(text)
                } else if !isBlank {
                    hide(text)
                }
                at = text.endIndex
            }
        }
    }

    // MARK: Lists

    private mutating func maskList(_ line: ArraySlice<Unicode.Scalar>) {
        guard let equals = line.firstIndex(of: "=") else { return maskURLs(line) }
        let name = String(line[..<equals]).lowercased()
        let isSecret = ["header", "passwd", "password", "token", "cookie"].contains {
            name.hasSuffix($0)
        }
        guard isSecret else { return maskURLs(line) }
        copy(line[...equals])
        hide(line[(equals + 1)...])
    }

    // MARK: URLs

    /// Copies a text without the user names, passwords and queries of its URLs.
    private mutating func maskURLs(_ text: ArraySlice<Unicode.Scalar>) {
        var at = text.startIndex
        while at < text.endIndex {
            let isBlank = { (scalar: Unicode.Scalar) in " \t\"'<>".unicodeScalars.contains(scalar) }
            let word = text[at...].prefix { !isBlank($0) }
            maskURL(word)
            at = word.endIndex
            if at < text.endIndex { copy(text[at...at]) }
            at += 1
        }
    }

    /// Copies a URL without its user name, password and query.
    private mutating func maskURL(_ url: ArraySlice<Unicode.Scalar>) {
        var at = url.startIndex
        for secret in URLSecrets.ranges(in: url) {
            copy(url[at..<secret.lowerBound])
            hide(url[secret])
            at = secret.upperBound
        }
        copy(url[at...])
    }
}
