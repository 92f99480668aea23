internal import Glibc
public import MirrorManifests
public import MirrorModel
internal import MirrorSystem

/// A manifest's file, which a program or a person writes or edits.
///
/// An edit changes entries only: order, form and notes of the rest stay as they are, byte for byte.
/// The file is replaced atomically, so a killed process leaves the old or the new text.
public struct ManifestFile: Sendable {
    /// The path, as it was given.
    public let path: String

    /// Takes the path of a file, which need not be there for `add`.
    public init(path: String) { self.path = path }

    /// Whether something exists at the path (access(2)).
    public var exists: Bool { access(path, F_OK) == 0 }

    /// Writes a manifest to the file: an existing one is replaced whole or not at all.
    ///
    /// Throws `ManifestError` for values that the notation cannot express, and `MirrorError` with
    /// `manifestInvalid`, `usage`, `inputOutput` or `noSpace`; the file is then as it was.
    public func write(_ manifest: Manifest, with writer: ManifestWriter) async throws {
        try await Offload.run {
            try manifest.validate()
            try refuseOwnFile(path)
            var writer = writer
            let file = try FileReplacement(of: path)
            writer.folder = writer.folder ?? file.folder
            try writer.check(manifest)
            try file.write { sink in try writer.write(manifest, to: sink) }
        }
    }

    /// Adds entries behind the others; makes a manifest where there is no file, in XML if its name ends
    /// in `.xml`, else in JSON.
    ///
    /// Throws `ManifestError` for a file that is no manifest, and `MirrorError` with
    /// `manifestInvalid` for an entry that cannot stand beside the others. Nothing is written then.
    public func add(_ entries: [NewEntry], isDryRun: Bool = false) async throws {
        try await Offload.run { try addNow(entries, isDryRun: isDryRun) }
    }

    private func addNow(_ entries: [NewEntry], isDryRun: Bool) throws {
        let file = try FileReplacement(of: path)
        let text: [UInt8]
        if exists {
            let edit = try ManifestEdit(readingFile: path)
            try refuse(entries, in: edit)
            text = try edit.text(adding: entries)
        } else {
            let base = path.split(separator: "/").last.map(String.init) ?? path
            let stem = base.halves(atLast: ".")?.before ?? base[...]
            let isXML = path.lowercased().hasSuffix(".xml")
            text = ManifestEdit.text(named: String(stem), entries, isXML: isXML)
            _ = try ManifestReader.read(text, label: path, origin: .file(path: path))
        }
        if !isDryRun { try file.write { sink in try sink(text) } }
    }

    /// Corrects the text where it is certain what is right, and leaves every other byte as it is.
    ///
    /// Returns what was corrected; errors may remain. A file without such errors is not written.
    /// Throws `MirrorError` with `manifestUnreadable`, `inputOutput` or `noSpace`.
    public func correct(isDryRun: Bool = false) async throws -> [Replacement] {
        try await Offload.run {
            let file = try FileReplacement(of: path)
            let correction = try ManifestCorrection(
                of: try ManifestEdit.bytes(ofFile: path), label: path, origin: .file(path: path))
            if !isDryRun, !correction.replacements.isEmpty {
                try file.write { sink in try sink(correction.text) }
            }
            return correction.replacements
        }
    }

    /// Refuses entries whose target the manifest already names.
    private func refuse(_ entries: [NewEntry], in edit: ManifestEdit) throws {
        let targets = Set(entries.map(\.target))
        for resource in edit.decoded.manifest.resources where targets.contains(resource.target) {
            throw MirrorError(
                .manifestInvalid,
                "\(resource.target): \(path.printable):\(resource.line) names it already. Give the new entry another target.",
                target: resource.target)
        }
    }

    /// Removes the entries of targets.
    ///
    /// Throws `ManifestError` for a file that is no manifest, `MirrorError` with `usage` for a
    /// target that it does not name, and with `manifestInvalid` if the text cannot be edited, as
    /// that of a Metalink. Nothing is written then.
    public func remove(_ targets: [Target], isDryRun: Bool = false) async throws {
        try await Offload.run { try removeNow(targets, isDryRun: isDryRun) }
    }

    private func removeNow(_ targets: [Target], isDryRun: Bool) throws {
        let file = try FileReplacement(of: path)
        let edit = try ManifestEdit(readingFile: path)
        let resources = edit.decoded.manifest.resources
        var positions: Set<Int> = []
        for target in targets {
            guard
                let position = resources.indices.first(where: { resources.target(at: $0) == target }
                )
            else {
                throw MirrorError(
                    .usage,
                    NearestName.sentence(target: target, among: resources.lazy.map(\.target)))
            }
            positions.insert(position)
        }
        let text = try edit.text(removing: positions)
        if !isDryRun { try file.write { sink in try sink(text) } }
    }

    /// Writes sizes and sha256 digests of fetched files into the file.
    ///
    /// Every selected resource that the index knows is read. If the declarations of one contradict
    /// its file, the manifest's file stays as it is, and the report names the resource. The
    /// manifest's text keeps its order, its form and its notes: the new values are put beside each
    /// `url`.
    ///
    /// - Parameters:
    ///   - session: a session of the root with the fetched files.
    ///   - options: `only` and `skip` select resources by their tags.
    ///   - updates: whether other sizes and digests that the manifest declares give way to those of the
    ///     files that mirror put there last.
    ///   - isDryRun: whether nothing is written.
    /// - Throws: `ManifestError`, or `MirrorError` with `manifestUnreadable`, `inputOutput`,
    ///   `cancelled` and the like.
    public func pin(
        from session: MirrorSession, options: PlanOptions = PlanOptions(), updates: Bool = false,
        isDryRun: Bool = false
    ) async throws -> PinReport {
        let (root, meter) = (session.root, ActivityMeter.current)
        return try await session.engine.scan { view, isCancelled in
            try PinScan(view: view, updates: updates, meter: meter, isCancelled: isCancelled)
                .pin(path, options: options, isDryRun: isDryRun, root: root)
        }
    }
}

extension ManifestEdit {
    /// Reads a manifest's file.
    ///
    /// Throws `ManifestError`, or `MirrorError` with `manifestUnreadable`.
    init(readingFile path: String) throws {
        let bytes = try ManifestEdit.bytes(ofFile: path)
        let origin = ManifestOrigin.file(path: path)
        self.init(
            bytes: bytes, decoded: try ManifestReader.read(bytes, label: path, origin: origin),
            label: path, origin: origin)
    }

    /// The text of a manifest's file. Throws `MirrorError` with `manifestUnreadable`.
    static func bytes(ofFile path: String) throws -> [UInt8] {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else {
            throw MirrorError(
                .manifestUnreadable,
                "\(path.printable): the manifest cannot be read: \(String(cString: strerror(errno)))."
            )
        }
        let file = Descriptor(owning: number)
        do throws(Errno) {
            let size = try file.status(path: path).stamp.size
            return try file.bytes(at: 0, count: Int(size), path: path)
        } catch { throw MirrorError(error) }
    }
}
