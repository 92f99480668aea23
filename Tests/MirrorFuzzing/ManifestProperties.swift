@testable import MirrorKit

/// What holds of every manifest, taken or refused.
///
/// Where a manifest comes from, and how its bytes are cut into chunks, follow from the bytes
/// themselves: so the corpus is made of manifests as people write them.
enum ManifestProperties {
    static let parsers = [
        FuzzedParser("json", longest: 2048, dictionary: "json", flaw),
        FuzzedParser("xml", longest: 2048, dictionary: "xml", flaw),
        FuzzedParser("metalink", longest: 2048, dictionary: "metalink", flaw),
        FuzzedParser("list", longest: 2048, ListProperties.flaw),
        FuzzedParser("edit", longest: 1024, dictionary: "json", EditProperties.flaw),
    ]

    /// A number that is the same for the same bytes (FNV-1a).
    static func fingerprint(_ bytes: [UInt8]) -> Int {
        Int(bytes.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 })
    }

    static func origin(_ number: Int) -> ManifestOrigin {
        switch number % 4 {
        case 0: .standardInput
        case 1:
            (try? SourceURL("https://h.example/a/m.json?q")).map(ManifestOrigin.url)
                ?? .standardInput
        default: .file(path: "/srv/lists/m.json")
        }
    }

    private static let flaw: @Sendable ([UInt8]) -> String? = { bytes in
        let number = fingerprint(bytes)
        let origin = origin(number)
        let outcome = Outcome { try ManifestReader.read(bytes, label: "m", origin: origin) }
        // Behind more white space than that, only a whole chunk tells the notations apart. What is
        // no text shows itself in the first 4096 bytes.
        let text = bytes.dropFirst(bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
        let start =
            text.firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? bytes.count
        if start < 250, !isBinary(bytes) {
            let size = 1 + number / 4 % 32
            let isXML = start < bytes.count && bytes[start] == UInt8(ascii: "<")
            let chunked = Outcome {
                try ManifestReader.read(bytes, chunkSize: size, label: "m", origin: origin)
            }
            if let flaw = outcome.difference(from: chunked, isXML: isXML) {
                return "in chunks of \(size): " + flaw
            }
        }
        switch outcome {
        case .other(let error): return "another error: \(error)"
        case .refused(let refusal): return RefusalProperties.flaw(in: refusal, of: bytes)
        case .taken(let decoded):
            return RefusalProperties.flaw(in: decoded.warnings, of: bytes)
                ?? ModelProperties.flaw(in: decoded.manifest, of: origin)
                ?? WritingProperties.flaw(in: decoded, of: origin, trial: number / 128)
        }
    }

    private static func isBinary(_ bytes: [UInt8]) -> Bool {
        if case .binary = ManifestNotation(bytes, isWhole: true) { true } else { false }
    }

    /// How reading ended.
    enum Outcome {
        case taken(DecodedManifest)
        case refused(ManifestError)
        case other(String)

        init(_ read: () throws -> DecodedManifest) {
            do {
                self = .taken(try read())
            } catch let refusal as ManifestError {
                self = .refused(refusal)
            } catch {
                self = .other("\(error)")
            }
        }

        func difference(from other: Outcome, isXML: Bool) -> String? {
            switch (self, other) {
            case (.taken(let a), .taken(let b)):
                return firstFlaw(
                    (a.notation == b.notation, "another notation"),
                    (a.manifest.name == b.manifest.name, "another name"),
                    (Array(a.manifest.resources) == Array(b.manifest.resources), "other resources"),
                    (a.warnings == b.warnings, "warnings \(a.warnings), not \(b.warnings)"))
            case (.refused(let a), .refused(let b)):
                // Where XML is broken, libxml2 gives up sooner or later as more or less is at hand.
                return a == b || isXML ? nil : "errors [\(a)], not [\(b)]"
            case (.other(let a), .other(let b)): return a == b ? nil : "\(a), not \(b)"
            default: return "\(self), not \(other)"
            }
        }
    }
}

/// What holds of every diagnostic: it has a place in the text, and can be printed.
enum RefusalProperties {
    static func flaw(in refusal: ManifestError, of bytes: [UInt8]) -> String? {
        firstFlaw(
            (!refusal.diagnostics.isEmpty, "refused without an error"),
            (refusal.diagnostics.count <= 20, "more than 20 errors"),
            (refusal.omitted >= 0, "fewer than no errors"),
            (refusal.omitted == 0 || refusal.diagnostics.count == 20, "omitted too early"))
            ?? flaw(in: refusal.diagnostics, of: bytes)
    }

    static func flaw(in diagnostics: [Diagnostic], of bytes: [UInt8]) -> String? {
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        // A line of a list may end with NUL, as sha256sum -z writes it.
        let entries = bytes.split(omittingEmptySubsequences: false) { $0 == 0x0A || $0 == 0 }
        for diagnostic in diagnostics {
            // One more than the line's length is where something is missing.
            let isThere = [lines, entries].contains { lines in
                (1...lines.count).contains(diagnostic.line)
                    && (1...(lines[diagnostic.line - 1].count + 1)).contains(diagnostic.column)
            }
            guard isThere else { return "no such place: \(diagnostic)" }
            let isPrintable = diagnostic.description.unicodeScalars.allSatisfy {
                $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value)
            }
            guard isPrintable else {
                return "not fit to print: \(diagnostic.message.debugDescription)"
            }
        }
        return nil
    }
}
