internal import Glibc

/// The file of a manifest, which a program or a person writes or edits.
///
/// An edit changes entries only. Order, form and notes of the other entries stay as they are, byte
/// for byte. Each change replaces the file atomically, so a killed process leaves the old or the
/// new text.
package struct ManifestFile: Sendable {
    /// The path, as it was given.
    let path: String

    /// Makes a value for the file at a path. The file need not exist for `write` and `add`.
    package init(path: String) { self.path = path }

    /// Whether something exists at the path (access(2)).
    package var exists: Bool { access(path, F_OK) == 0 }

    /// Writes a manifest to the file, and replaces an existing file whole or not at all.
    ///
    /// Throws `ManifestError` for values that the notation cannot express. Throws `MirrorError`
    /// with `manifestInvalid`, `usage`, `inputOutput` or `noSpace`. After an error the file is as
    /// it was.
    package func write(_ manifest: Manifest, with writer: ManifestWriter) async throws {
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

    /// Adds entries after the existing ones.
    ///
    /// If the file does not exist, it is created: in XML if its name ends in `.xml`, else in JSON.
    /// Throws `ManifestError` for a file that is no manifest. Throws `MirrorError` with
    /// `manifestInvalid` if the manifest already names the target of an entry. An error leaves the
    /// file as it was.
    package func add(_ entries: [NewEntry], isDryRun: Bool = false) async throws {
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

    /// Corrects errors in the text whose right value is certain, and leaves every other byte as it
    /// is.
    ///
    /// Returns the corrections; errors may remain. If there is nothing to correct, the file is not
    /// written. Throws `MirrorError` with `manifestUnreadable`, `inputOutput` or `noSpace`.
    package func correct(isDryRun: Bool = false) async throws -> [Replacement] {
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

    /// Throws if the manifest already names the target of an entry.
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
    /// Throws `ManifestError` for a file that is no manifest. Throws `MirrorError` with `usage` for
    /// a target that the manifest does not name. Throws `manifestInvalid` if the text cannot be
    /// edited, for example a Metalink. An error leaves the file as it was.
    package func remove(_ targets: [Target], isDryRun: Bool = false) async throws {
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

    /// Writes sizes and sha256 digests of fetched files into the manifest's file.
    ///
    /// The call reads every selected resource that the index knows. If a resource's declarations
    /// contradict its file, the manifest stays as it is and the report names the resource. The
    /// manifest's text keeps its order, its form and its notes: the new values are put beside each
    /// `url`.
    ///
    /// - Parameters:
    ///   - session: a session of the root with the fetched files.
    ///   - options: `only` and `skip` select resources by their tags.
    ///   - updates: whether sizes and digests of the files that mirror put there last replace other
    ///   values that the manifest declares.
    ///   - isDryRun: whether nothing is written.
    /// - Throws: `ManifestError`, or `MirrorError` with `manifestUnreadable`, `inputOutput`,
    ///   `cancelled` and the like.
    package func pin(
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

    /// The bytes of a manifest's file. Throws `MirrorError` with `manifestUnreadable`.
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
