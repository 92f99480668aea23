internal import Glibc
internal import MirrorManifests
public import MirrorModel
internal import MirrorSystem

extension MirrorSession {
    /// Writes sizes and sha256 digests of fetched files into a manifest's file.
    ///
    /// Every selected resource that the index knows is read. If the declarations of one contradict
    /// its file, the manifest's file stays as it is, and the report names the resource. The
    /// manifest's text keeps its order, its form and its notes: the new values are put beside each
    /// `url`. The file is replaced atomically.
    ///
    /// - Parameters:
    ///   - path: the manifest's file.
    ///   - options: `only` and `skip` select resources by their tags.
    ///   - updates: whether other sizes and digests that the manifest declares give way to those of the
    ///     files that mirror put there last.
    ///   - isDryRun: whether nothing is written.
    /// - Throws: `ManifestRefusal`, or `MirrorError` with `manifestUnreadable`, `inputOutput`,
    ///   `cancelled` and the like.
    public func pin(
        _ path: String, options: PlanOptions = PlanOptions(), updates: Bool = false,
        isDryRun: Bool = false
    ) async throws -> PinReport {
        let root = root
        let (cancellation, meter) = (CancellationFlag(), ActivityMeter.current)
        return try await reading { view in
            try await withTaskCancellationHandler {
                try await Offload.run {
                    let file = try FileReplacement(of: path)
                    let edit = try ManifestEdit(readingFile: path)
                    let scan = PinScan(
                        view: view, updates: updates, meter: meter,
                        isCancelled: { cancellation.isSet })
                    let found = try scan.findings(of: edit.decoded.manifest, options: options)
                    var report = PinReport(
                        root: root, manifest: path, isDryRun: isDryRun,
                        findings: found.map(\.finding))
                    guard report.contradictions.isEmpty, !report.pinned.isEmpty else {
                        return report
                    }
                    let text = try edit.text(pinning: PinScan.values(of: found))
                    if !isDryRun {
                        try file.write { sink in try sink(text) }
                        report.isWritten = true
                    }
                    return report
                }
            } onCancel: {
                cancellation.set()
            }
        }
    }
}

extension ManifestEdit {
    /// Reads a manifest's file.
    ///
    /// Throws `ManifestRefusal`, or `MirrorError` with `manifestUnreadable`.
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
