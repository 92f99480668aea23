internal import MirrorModel

/// Leaves out of a manifest's lines what may be a secret: values of headers, bodies and unknown keys,
/// and the queries and passwords of URLs.
///
/// It knows a line and the one before it, not the manifest. Where it cannot know what a value
/// belongs to, it leaves the value out.
struct SecretMask {
    /// A line with marks in place of secrets.
    struct Masked {
        fileprivate var scalars: [Unicode.Scalar] = []
        /// Where each scalar of the line went.
        fileprivate var places: [Int] = []

        var text: String { String(scalars) }

        /// A range of the line, in this text.
        func moved(_ range: Range<Int>) -> Range<Int> {
            let start = range.lowerBound < places.count ? places[range.lowerBound] : scalars.count
            let end = range.upperBound < places.count ? places[range.upperBound] : scalars.count
            // What is hidden has one mark for all of it.
            return start..<max(start + (range.isEmpty ? 0 : 1), end)
        }

        fileprivate mutating func copy(_ line: ArraySlice<Unicode.Scalar>) {
            for scalar in line {
                places.append(scalars.count)
                scalars.append(scalar)
            }
        }

        fileprivate mutating func hide(_ line: ArraySlice<Unicode.Scalar>) {
            guard !line.isEmpty else { return }
            places += Array(repeating: scalars.count, count: line.count)
            scalars.append("…")
        }
    }

    let kind: DiagnosedText.Kind
    /// The JSON key that the next value belongs to.
    private var key: String?

    init(kind: DiagnosedText.Kind) { self.kind = kind }

    /// The line without secrets; lines come in their order.
    mutating func mask(_ window: TextWindow) -> Masked {
        var masked = Masked()
        let line = window.scalars
        switch kind {
        case .json:
            var start = 0
            if window.isCutBefore, beginsInsideText(window) {
                start = line.firstIndex(of: "\"") ?? line.count
                masked.hide(line[..<start])
                // What ended here is unknown, and so is what follows it.
                if start < line.count { masked.copy(line[start...start]) }
                start = min(start + 1, line.count)
                key = ""
            }
            maskJSON(line[start...], into: &masked)
        case .xml: maskXML(line, isCut: window.isCutBefore, into: &masked)
        case .list: maskList(line[...], into: &masked)
        }
        return masked
    }

    // MARK: JSON

    /// Whether the cut line begins inside a text: the quotes before a token come in pairs, and those
    /// before a place within a text do not.
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

    private mutating func maskJSON(
        _ line: ArraySlice<Unicode.Scalar>, into masked: inout Masked
    ) {
        var at = line.startIndex
        while at < line.endIndex {
            let scalar = line[at]
            switch scalar {
            case "\"", "'":
                let end = endOfText(line, from: at, scalar)
                let isClosed = end > at + 1 && line[end - 1] == scalar
                let inner = line[(at + 1)..<(isClosed ? end - 1 : end)]
                let next = line[end...].first { $0 != " " && $0 != "\t" }
                masked.copy(line[at...at])
                if next == ":" {
                    key = String(inner)
                    masked.copy(inner)
                } else if isShown(inner) {
                    maskURL(inner, into: &masked)
                } else {
                    masked.hide(inner)
                }
                if isClosed { masked.copy(line[(end - 1)..<end]) }
                at = end
            case "0"..."9", "-":
                let run = line[at...].prefix {
                    ("0"..."9").contains($0) || ".-+eE".unicodeScalars.contains($0)
                }
                if let key, !SecretMask.open.contains(key) {
                    masked.hide(run)
                } else {
                    masked.copy(run)
                }
                at = run.endIndex
            default:
                if scalar == "{" || scalar == "}" { key = nil }
                masked.copy(line[at...at])
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

    /// Whether a value may be seen: its key is a manifest's own, or it is a URL itself.
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

    private func maskXML(
        _ line: [Unicode.Scalar], isCut: Bool, into masked: inout Masked
    ) {
        let bracket = line.first { $0 == "<" || $0 == ">" }
        var isInTag = bracket == ">" || (bracket == nil && line.contains("="))
        var element = ""
        var at = 0
        // The line may begin inside an attribute's value.
        if let quote = line.firstIndex(where: { $0 == "\"" || $0 == "'" }), isInTag || isCut,
            quote == 0 || line[quote - 1] != "="
        {
            masked.hide(line[..<quote])
            masked.copy(line[quote...quote])
            (at, isInTag) = (quote + 1, true)
        }
        var name = ""
        while at < line.count {
            let scalar = line[at]
            if isInTag, scalar == "\"" || scalar == "'" {
                let end = line[(at + 1)...].firstIndex(of: scalar) ?? line.count
                masked.copy(line[at...at])
                let isOpen = SecretMask.open.contains(name) || name == "name"
                if isOpen { maskURL(line[(at + 1)..<end], into: &masked) }
                if !isOpen { masked.hide(line[(at + 1)..<end]) }
                name = ""
                at = end
                if at < line.count { masked.copy(line[at...at]) }
                at += 1
            } else if isInTag {
                if scalar == ">" { isInTag = false }
                let isName = scalar != " " && scalar != "\t" && scalar != "="
                if isName { name.unicodeScalars.append(scalar) }
                if scalar == " " || scalar == "\t" { name = "" }
                masked.copy(line[at...at])
                at += 1
            } else if scalar == "<" {
                isInTag = true
                element = String(line[(at + 1)...].prefix { $0 != " " && $0 != ">" && $0 != "/" })
                masked.copy(line[at...at])
                at += 1
            } else {
                let text = line[at...].prefix { $0 != "<" }
                let isBlank = text.allSatisfy { $0 == " " || $0 == "\t" }
                if isBlank { masked.copy(text) }
                if !isBlank, SecretMask.openElements.contains(element) {
                    maskURLs(text, into: &masked)
                } else if !isBlank {
                    masked.hide(text)
                }
                at = text.endIndex
            }
        }
    }

    // MARK: Lists

    private func maskList(_ line: ArraySlice<Unicode.Scalar>, into masked: inout Masked) {
        guard let equals = line.firstIndex(of: "=") else { return maskURLs(line, into: &masked) }
        let name = String(line[..<equals]).lowercased()
        let isSecret = ["header", "passwd", "password", "token", "cookie"].contains {
            name.hasSuffix($0)
        }
        guard isSecret else { return maskURLs(line, into: &masked) }
        masked.copy(line[...equals])
        masked.hide(line[(equals + 1)...])
    }

    // MARK: URLs

    /// Copies a text without the user names, passwords and queries of its URLs.
    private func maskURLs(_ text: ArraySlice<Unicode.Scalar>, into masked: inout Masked) {
        var at = text.startIndex
        while at < text.endIndex {
            let isBlank = { (scalar: Unicode.Scalar) in " \t\"'<>".unicodeScalars.contains(scalar) }
            let word = text[at...].prefix { !isBlank($0) }
            maskURL(word, into: &masked)
            at = word.endIndex
            if at < text.endIndex { masked.copy(text[at...at]) }
            at += 1
        }
    }

    /// Copies a URL without its user name, password and query.
    private func maskURL(_ url: ArraySlice<Unicode.Scalar>, into masked: inout Masked) {
        var at = url.startIndex
        for secret in URLSecrets.ranges(in: url) {
            masked.copy(url[at..<secret.lowerBound])
            masked.hide(url[secret])
            at = secret.upperBound
        }
        masked.copy(url[at...])
    }
}
