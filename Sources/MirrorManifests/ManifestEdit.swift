package import MirrorModel

/// Changes a manifest's text only where an edit asks for it.
///
/// `ResourcePlaces` finds the places. The decoders then check the result: the new text is read again,
/// and must have the values of the old text and the new ones.
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

    /// The manifest in a changed text; nil if the text is none, or has another notation or name.
    func again(_ text: [UInt8]) -> Manifest? {
        guard let again = try? ManifestReader.read(text, label: label, origin: origin),
            again.notation == decoded.notation, again.manifest.name == decoded.manifest.name
        else { return nil }
        return again.manifest
    }

    /// Whether the first resources of a changed manifest are those of the old one at some positions.
    ///
    /// - Parameter change: changes the old resource as it was meant to be; it gets its position and the
    ///   new one.
    func isSame(
        _ positions: [Int], in manifest: Manifest,
        _ change: (_ position: Int, _ wanted: inout Resource, _ found: Resource) -> Void = {
            _, _, _ in
        }
    ) -> Bool {
        guard manifest.resources.count >= positions.count else { return false }
        return positions.enumerated().allSatisfy { number, position in
            var wanted = decoded.manifest.resources[position]
            let found = manifest.resources[number]
            change(position, &wanted, found)
            (wanted.line, wanted.column) = (found.line, found.column)
            return wanted == found
        }
    }

    /// The error about a list, which is imported and not written.
    var isList: MirrorError {
        MirrorError(
            .manifestInvalid,
            "\(label.printable): it is \(decoded.list?.title ?? "a list"), not a manifest, so nothing is written into it. Import it into a manifest first."
        )
    }

    /// The error about a text whose places were not found.
    var unsafe: MirrorError {
        MirrorError(
            .manifestInvalid,
            "\(label.printable): its text cannot be edited safely, so it was left. Edit it by hand, or convert the manifest first."
        )
    }
}
