internal import MirrorModel

/// The values that a resource gains in the text of its manifest.
package struct PinnedValues: Hashable {
    /// The size in bytes; nil if it is declared already.
    package var size: Int64?
    /// The digest in hexadecimal digits; nil if it is declared already.
    package var sha256: String?

    /// Takes both as they are.
    package init(size: Int64? = nil, sha256: String? = nil) {
        (self.size, self.sha256) = (size, sha256)
    }
}

/// Text that is put into a manifest at an offset in bytes.
struct TextInsertion {
    let offset: Int
    let text: [UInt8]
}

/// Adds sizes and digests to a manifest's text, and changes nothing else.
///
/// A walk over the text that is simpler than the decoders finds the places. The decoders then check
/// the result: the new text is read again, and must have the values of the old text and the new
/// ones.
package struct ManifestEdit {
    package let bytes: [UInt8]
    package let decoded: DecodedManifest
    package let label: String
    package let origin: ManifestOrigin

    /// Takes a text and the manifest that was read from it.
    package init(
        bytes: [UInt8], decoded: DecodedManifest, label: String, origin: ManifestOrigin
    ) {
        (self.bytes, self.decoded) = (bytes, decoded)
        (self.label, self.origin) = (label, origin)
    }

    /// The new text; the keys of `values` are the resources' positions in the manifest.
    ///
    /// Throws `MirrorError` with `manifestInvalid` if the text cannot be edited.
    package func text(adding values: [Int: PinnedValues]) throws -> [UInt8] {
        let insertions: [TextInsertion]
        switch decoded.notation {
        case .json: insertions = try JSONPinPlaces.insertions(in: bytes, for: values)
        case .xml:
            insertions = XMLPinPlaces(bytes, element: "resource").attributes(for: values)
        case .metalink:
            insertions = XMLPinPlaces(bytes, element: "file").elements(for: values)
        }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + insertions.reduce(0) { $0 + $1.text.count })
        var start = 0
        for insertion in insertions {
            text += bytes[start..<insertion.offset]
            text += insertion.text
            start = insertion.offset
        }
        text += bytes[start...]
        guard try says(values, text) else {
            throw MirrorError(
                .manifestInvalid,
                "\(label.printable): its text cannot be edited safely, so it was left. Write the digests by hand, or convert the manifest first."
            )
        }
        return text
    }

    private func says(_ values: [Int: PinnedValues], _ text: [UInt8]) throws -> Bool {
        guard let again = try? ManifestReader.read(text, label: label, origin: origin),
            again.notation == decoded.notation, again.manifest.name == decoded.manifest.name,
            again.manifest.resources.count == decoded.manifest.resources.count
        else { return false }
        for position in decoded.manifest.resources.indices {
            var wanted = decoded.manifest.resources[position]
            let found = again.manifest.resources[position]
            if let value = values[position] {
                wanted.size = value.size ?? wanted.size
                if let sha256 = value.sha256.flatMap({ Digest(.sha256, hex: $0) }) {
                    // A pinned resource that declares no refresh is never due.
                    if wanted.refresh == wanted.assumedRefresh { wanted.refresh = found.refresh }
                    wanted.digests = (wanted.digests + [sha256]).sorted {
                        $0.algorithm > $1.algorithm
                    }
                }
            }
            (wanted.line, wanted.column) = (found.line, found.column)
            guard wanted == found else { return false }
        }
        return true
    }
}

/// The white space between the parts of a manifest, so that additions get the same form.
enum SpaceAround {
    /// The line end and the indentation before an offset; nil if its line has other text before it.
    static func lineStart(before offset: Int, in bytes: [UInt8]) -> ArraySlice<UInt8>? {
        var start = offset
        while start > 0, bytes[start - 1] == 0x20 || bytes[start - 1] == 0x09 { start -= 1 }
        guard start > 0, bytes[start - 1] == 0x0A else { return nil }
        start -= 1
        if start > 0, bytes[start - 1] == 0x0D { start -= 1 }
        return bytes[start..<offset]
    }
}
