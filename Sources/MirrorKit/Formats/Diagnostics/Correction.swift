/// A change of a manifest's text that a decoder knows to be right.
///
/// `DiagnosedText` makes the change only if the text at the place is exactly what the decoder read.
/// A value that is written with escapes, for example, stays as it is.
enum Correction: Sendable, Hashable {
    /// The text at the place and its replacement, both as written: `"12"`, `12`.
    ///
    /// An empty replacement removes the text.
    case written(String, String)
    /// A value without its quotes, and the value that replaces it.
    case value(String, String)
    /// A text to insert at a place of its own.
    case missing(String, at: TextPosition)
    /// A JSON text in single quotes, which should be double quotes.
    case quotes
}

/// The corrections of values that can be meant in one way only.
///
/// A suggestion that is merely likely, such as a key with a similar name, is no correction. A URL
/// that may contain a secret is not corrected.
extension Correction {
    /// Returns the change of a value. Returns nil if both values are equal.
    private static func changing(_ old: String, to new: String) -> Correction? {
        new == old ? nil : .value(old, new)
    }

    /// Removes the algorithm's name before a digest, such as `sha256:`.
    ///
    /// Returns nil if the flaw is another one, or if the rest is no digest.
    static func digest(
        _ text: String, _ algorithm: DigestAlgorithm, _ flaw: DigestError
    ) -> Correction? {
        guard case .prefixed(let prefix) = flaw else { return nil }
        let digits = String(text.dropFirst(prefix.count))
        return Digest(algorithm, hex: digits).map { _ in .value(text, digits) }
    }

    /// Writes a path's area in the right case, and drops empty and `.` components.
    ///
    /// Returns nil if the path needs no change, or if no valid path results.
    static func path(_ text: String) -> Correction? {
        var components = text.split(separator: "/", omittingEmptySubsequences: true)
        guard text.first != "/", let first = components.first,
            let area = Area.allCases.first(where: {
                $0.rawValue.lowercased() == first.lowercased()
            })
        else { return nil }
        components[0] = area.rawValue[...]
        components.removeAll { $0 == "." }
        let path = components.joined(separator: "/") + (text.last == "/" ? "/" : "")
        let isSound = Target.flaw(in: text.last == "/" ? path + "x" : path) == nil
        return isSound ? changing(text, to: path) : nil
    }

    /// Encodes the spaces of a URL.
    ///
    /// Returns nil for any other flaw, and for a URL that may contain a secret.
    static func url(_ text: String, _ flaw: SourceURLError.Reason) -> Correction? {
        guard case .character(" ") = flaw, text.first != " ", text.last != " ",
            !text.contains("?"), !text.contains("@")
        else { return nil }
        return changing(text, to: text.split(separator: " ").joined(separator: "%20"))
    }

    /// Removes the parameters of a media type.
    ///
    /// Returns nil if there are no parameters, or if the rest is no media type.
    static func mediaType(_ text: String) -> Correction? {
        guard let (type, _) = text.halves(atFirst: ";") else { return nil }
        let bare = String(type).trimmed
        return MediaRange(bare).map { _ in .value(text, bare) }
    }

    /// Replaces a text by a list with this text.
    ///
    /// Returns nil if the text is empty, or has a character that makes its meaning unsure.
    static func list(of value: WrittenValue) -> Correction? {
        guard case .string(let text) = value, !text.isEmpty,
            !text.contains(where: { " ,?@\\\"".contains($0) || !$0.isASCII })
        else { return nil }
        return .written("\"\(text)\"", "[\"\(text)\"]")
    }
}

/// Corrects a manifest's text where the right text is certain, and keeps all other bytes.
///
/// A correction may uncover the next error, because a decoder ends at an error such as a key
/// without quotes. So the text is read again after each round, until no certain correction is left.
struct ManifestCorrection {
    /// `mostRounds`: the most readings of a text.
    ///
    /// `mostErrors`: the most errors that one reading keeps.
    private static let mostRounds = 200
    private static let mostErrors = 10_000

    /// The corrected text.
    private(set) var text: [UInt8]
    /// The changes that were made, in the order in which they were found.
    private(set) var replacements: [Replacement] = []

    /// Corrects a text. Throws `MirrorError` if the text cannot be read at all.
    init(of bytes: [UInt8], label: String, origin: ManifestOrigin) throws {
        text = bytes
        var errors = try ManifestCorrection.errors(in: bytes, label, origin)
        for _ in 0..<ManifestCorrection.mostRounds {
            guard let found = errors else { return }
            let wanted = found.diagnostics.compactMap(\.replacement)
            let (changed, made) = ManifestCorrection.applying(wanted, to: text)
            guard !made.isEmpty else { return }
            errors = try ManifestCorrection.errors(in: changed, label, origin)
            if let errors, !errors.isNearerToTheEnd(than: found) { return }
            text = changed
            replacements += made
        }
    }

    /// Makes the replacements whose old text stands at their place.
    ///
    /// Returns the new text and the replacements that were made.
    private static func applying(
        _ wanted: [Replacement], to bytes: [UInt8]
    ) -> (text: [UInt8], made: [Replacement]) {
        var lines = [bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0]
        for (offset, byte) in bytes.enumerated() where byte == 0x0A { lines.append(offset + 1) }
        var changes: [TextChange] = []
        var made: [Replacement] = []
        for replacement in wanted.sorted(by: { ($0.line, $0.column) < ($1.line, $1.column) }) {
            let old = Array(replacement.old.utf8)
            guard lines.indices.contains(replacement.line - 1),
                let start = offset(
                    of: replacement.column, from: lines[replacement.line - 1], in: bytes),
                start >= changes.last?.range.upperBound ?? 0,
                bytes[start...].starts(with: old)
            else { continue }
            if replacement == made.last { continue }
            changes.append(TextChange(start..<start + old.count, replacement.new.utf8))
            made.append(replacement)
        }
        return (TextChange.apply(changes, to: bytes), made)
    }

    /// Returns the offset of a column in the line that begins at `lineStart`.
    ///
    /// Returns nil if the column is behind the end of the text.
    private static func offset(of column: Int, from lineStart: Int, in bytes: [UInt8]) -> Int? {
        var (at, left) = (lineStart, column - 1)
        while at < bytes.count, left > 0 || bytes[at] & 0xC0 == 0x80 {
            if bytes[at] & 0xC0 != 0x80 { left -= 1 }
            at += 1
        }
        return left == 0 ? at : nil
    }

    private static func errors(
        in bytes: [UInt8], _ label: String, _ origin: ManifestOrigin
    ) throws -> ManifestError? {
        do {
            _ = try ManifestReader.read(
                bytes, label: label, origin: origin, mostErrors: mostErrors)
            return nil
        } catch let refusal as ManifestError { return refusal }
    }
}

extension ManifestError {
    /// Whether this text has fewer errors than the other, or was read further before reading ended.
    fileprivate func isNearerToTheEnd(than other: ManifestError) -> Bool {
        let count = { (refusal: ManifestError) in refusal.diagnostics.count + refusal.omitted }
        guard let last = diagnostics.last?.place, let otherLast = other.diagnostics.last?.place
        else { return false }
        return count(self) < count(other) || last > otherLast
    }
}
