@testable import MirrorKit

/// What was taken and is written, in any notation that can say it, reads as the same again.
enum WritingProperties {
    /// Writes in one notation, and for one place: which, follows from the number of the trial. All of
    /// them at once would make six times fewer trials.
    static func flaw(
        in decoded: DecodedManifest, of origin: ManifestOrigin, trial: Int
    ) -> String? {
        let notations = DecodedManifest.Notation.allCases
        let notation = notations[trial % notations.count]
        let folder = trial / notations.count % 2 == 0 ? nil : "/srv/lists"
        return flaw(in: decoded, as: notation, in: folder, of: origin).map {
            "as \(notation): \($0)"
        }
    }

    private static func flaw(
        in decoded: DecodedManifest, as notation: DecodedManifest.Notation, in folder: String?,
        of origin: ManifestOrigin
    ) -> String? {
        var writer = ManifestWriter(notation, label: "m")
        writer.folder = folder
        guard let bytes = written(decoded.manifest, writer) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        do {
            let again = try ManifestReader.read(bytes, label: "written", origin: origin)
            return firstFlaw(
                (again.notation == notation, "another notation"),
                (again.manifest.name == decoded.manifest.name, "another name: \(text)"),
                (
                    unplaced(again.manifest) == unplaced(decoded.manifest),
                    "other resources: \(text)"
                ),
                (written(again.manifest, writer) == bytes, "not the same twice: \(text)"))
        } catch {
            return "refused: \(error)\n\(text)"
        }
    }

    /// Nil when the notation cannot say it.
    private static func written(_ manifest: Manifest, _ writer: ManifestWriter) -> [UInt8]? {
        var bytes: [UInt8] = []
        do { try writer.write(manifest) { bytes += $0 } } catch { return nil }
        return bytes
    }

    static func unplaced(_ manifest: Manifest) -> [Resource] {
        manifest.resources.map { resource in
            var resource = resource
            (resource.line, resource.column) = (0, 0)
            return resource
        }
    }
}

/// What holds when sizes and digests are written into a manifest that was taken.
enum EditProperties {
    static let flaw: @Sendable ([UInt8]) -> String? = { bytes in
        let origin = ManifestOrigin.file(path: "/srv/lists/m.json")
        // A list of another program is not written into.
        guard let decoded = try? ManifestReader.read(bytes, label: "m", origin: origin),
            decoded.list == nil
        else { return nil }
        var values: [Int: PinnedValues] = [:]
        for (position, resource) in decoded.manifest.resources.enumerated() {
            let hasDigest = resource.digests.contains { $0.algorithm == .sha256 }
            let value = PinnedValues(
                // The declared pieces say how long the file is, as far as their number goes.
                size: resource.size == nil && resource.pieces == nil ? 7 : nil,
                sha256: hasDigest ? nil : String(repeating: "5c", count: 32))
            values[position] = value
        }
        let edit = ManifestEdit(bytes: bytes, decoded: decoded, label: "m", origin: origin)
        let text: [UInt8]
        do { text = try edit.text(pinning: values) } catch { return "\(error)" }
        guard isSubsequence(bytes, of: text) else {
            return "something is gone: \(String(decoding: text, as: UTF8.self))"
        }
        guard let again = try? ManifestReader.read(text, label: "m", origin: origin) else {
            return "refused: \(String(decoding: text, as: UTF8.self))"
        }
        guard again.manifest.resources.allSatisfy({ $0.pin != nil }) else {
            return "not pinned: \(String(decoding: text, as: UTF8.self))"
        }
        return entryFlaw(edit)
    }

    /// An entry that comes can go again, and so can all the others.
    private static func entryFlaw(_ edit: ManifestEdit) -> String? {
        guard edit.decoded.notation != .metalink,
            let target = try? Target("Documents/entry of a fuzzer"),
            let url = try? SourceURL("https://fuzzer.example/entry")
        else { return nil }
        do {
            let text = try edit.text(adding: [NewEntry(target: target, url: url)])
            let decoded = try ManifestReader.read(text, label: "m", origin: edit.origin)
            let longer = ManifestEdit(
                bytes: text, decoded: decoded, label: "m", origin: edit.origin)
            _ = try longer.text(removing: [decoded.manifest.resources.count - 1])
            _ = try longer.text(removing: Set(decoded.manifest.resources.indices))
            return nil
        } catch let error as MirrorError where error.message.contains("nothing was added") {
            return nil
        } catch { return "\(error)" }
    }

    private static func isSubsequence(_ bytes: [UInt8], of text: [UInt8]) -> Bool {
        var rest = text[...]
        for byte in bytes {
            guard let at = rest.firstIndex(of: byte) else { return false }
            rest = rest[(at + 1)...]
        }
        return true
    }
}
