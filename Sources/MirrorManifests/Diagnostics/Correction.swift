internal import MirrorModel

/// What a decoder knows to be right in place of what is wrong.
///
/// It is certain only if the text at the place is exactly what the decoder took it for: a value that
/// is written with escapes, say, is left alone.
package enum Correction: Sendable, Hashable {
    /// What stands at the place as it is written, and what should: `"12"`, `12`. Nothing removes it.
    case written(String, String)
    /// The value without its quotes, and what should stand between them.
    case value(String, String)
    /// A text is missing at a place of its own.
    case missing(String, at: TextPosition)
    /// A JSON text between single quotes, which should be double ones.
    case quotes
}

/// The corrections of values that can be meant in one way only.
///
/// A suggestion that is merely likely, such as a key with a similar name, is none of them. Nothing is
/// corrected in a URL that may have a secret in it.
extension Correction {
    /// A change of a value; nil where nothing would change.
    private static func changing(_ old: String, to new: String) -> Correction? {
        new == old ? nil : .value(old, new)
    }

    /// A digest without the name of its algorithm before it.
    static func digest(
        _ text: String, _ algorithm: DigestAlgorithm, _ flaw: DigestError
    ) -> Correction? {
        guard case .prefixed(let prefix) = flaw else { return nil }
        let digits = String(text.dropFirst(prefix.count))
        return Digest(algorithm, hex: digits).map { _ in .value(text, digits) }
    }

    /// A path with its area in the right case, and without components that mean nothing.
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

    /// A URL with its spaces encoded.
    static func url(_ text: String, _ flaw: SourceURLError.Reason) -> Correction? {
        guard case .character(" ") = flaw, text.first != " ", text.last != " ",
            !text.contains("?"), !text.contains("@")
        else { return nil }
        return changing(text, to: text.split(separator: " ").joined(separator: "%20"))
    }

    /// A media type without its parameters.
    static func mediaType(_ text: String) -> Correction? {
        guard let (type, _) = text.halves(atFirst: ";") else { return nil }
        let bare = String(type).trimmed
        return MediaRange(bare).map { _ in .value(text, bare) }
    }

    /// A list with a text in it, in place of the text.
    static func list(of value: WrittenValue) -> Correction? {
        guard case .string(let text) = value, !text.isEmpty,
            !text.contains(where: { " ,?@\\\"".contains($0) || !$0.isASCII })
        else { return nil }
        return .written("\"\(text)\"", "[\"\(text)\"]")
    }
}

/// Corrects a manifest's text where the right text is certain, and leaves every other byte as it is.
///
/// A correction may uncover the next error: a decoder ends at a key without quotes, say. So the text
/// is read again after each round, until nothing more is certain.
package struct ManifestCorrection {
    /// The most times that a text is read, and the most errors that one reading keeps.
    private static let mostRounds = 200
    private static let mostErrors = 10_000

    /// The text, corrected.
    package private(set) var text: [UInt8]
    /// What was changed, in the order in which it was found.
    package private(set) var replacements: [Replacement] = []

    /// Corrects a text. Throws `MirrorError` where the text cannot be read at all.
    package init(of bytes: [UInt8], label: String, origin: ManifestOrigin) throws {
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

    /// The text with those replacements whose old text is there, and these.
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

    /// The offset of a column of the line that begins at another; nil behind the end of the text.
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
    /// Whether a text has fewer errors, or was read further before it had to be given up.
    fileprivate func isNearerToTheEnd(than other: ManifestError) -> Bool {
        let count = { (refusal: ManifestError) in refusal.diagnostics.count + refusal.omitted }
        guard let last = diagnostics.last?.place, let otherLast = other.diagnostics.last?.place
        else { return false }
        return count(self) < count(other) || last > otherLast
    }
}
