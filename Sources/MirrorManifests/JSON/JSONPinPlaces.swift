internal import MirrorModel

/// Finds the places for size and sha256 in a JSON manifest, after each resource's `url`.
///
/// The additions have the same white space as the text around them.
struct JSONPinPlaces {
    private let bytes: [UInt8]
    private let values: [Int: PinnedValues]
    private var tokens: JSONTokenizer
    private var insertions: [TextInsertion] = []
    private var number = -1

    /// The insertions in the order of the text, which is a manifest that was read.
    static func insertions(
        in bytes: [UInt8], for values: [Int: PinnedValues]
    ) throws -> [TextInsertion] {
        do throws(DecodingStop) {
            let tokens = try JSONTokenizer(ManifestBytes(bytes), log: DiagnosticLog(file: ""))
            var places = JSONPinPlaces(bytes: bytes, values: values, tokens: tokens)
            try places.walk()
            return places.insertions
        } catch {
            throw MirrorError(.internalError, "A manifest that was read cannot be read again.")
        }
    }

    private init(bytes: [UInt8], values: [Int: PinnedValues], tokens: JSONTokenizer) {
        (self.bytes, self.values, self.tokens) = (bytes, values, tokens)
    }

    private mutating func walk() throws(DecodingStop) {
        _ = try tokens.next()
        while case .key = try tokens.next() {
            let key = tokens.string
            let token = try tokens.next()
            guard key == TopKey.resources.rawValue else {
                try tokens.skip(token)
                continue
            }
            while case .beginObject = try tokens.next() {
                number += 1
                try walkResource()
            }
        }
    }

    private mutating func walkResource() throws(DecodingStop) {
        while case .key = try tokens.next() {
            let isURL = tokens.string == ResourceKey.url.rawValue
            let keyStart = tokens.startOffset
            let token = try tokens.next()
            if isURL, let value = values[number] { add(value, keyStart: keyStart) }
            try tokens.skip(token)
        }
    }

    private mutating func add(_ value: PinnedValues, keyStart: Int) {
        let space = bytes[tokens.startOffset - 1] == UInt8(ascii: ":") ? "" : " "
        let separator =
            SpaceAround.lineStart(before: keyStart, in: bytes) ?? ArraySlice(space.utf8)
        var text: [UInt8] = []
        if let size = value.size {
            text += ",".utf8 + separator + "\"size\":\(space)\(size)".utf8
        }
        if let sha256 = value.sha256 {
            text += ",".utf8 + separator + "\"sha256\":\(space)\"\(sha256)\"".utf8
        }
        insertions.append(TextInsertion(offset: tokens.endOffset, text: text))
    }
}
