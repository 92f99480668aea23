/// Reads the files fetched for a manifest and compares them with the manifest's declarations.
///
/// `pin` writes the sizes and digests that the manifest lacks into the manifest's file.
struct PinScan {
    let view: TreeView
    /// Whether the values of files that mirror put in the tree last replace declared values that
    /// differ.
    var updates = false
    var meter: ActivityMeter?
    let isCancelled: @Sendable () -> Bool

    /// Writes the sizes and digests of the selected resources' files into a manifest's file.
    ///
    /// If a file contradicts the manifest's declarations, nothing is written.
    func pin(
        _ path: String, options: PlanOptions, isDryRun: Bool, root: String
    ) throws -> PinReport {
        let file = try FileReplacement(of: path)
        let edit = try ManifestEdit(readingFile: path)
        let found = try findings(of: edit.decoded.manifest, options: options)
        var report = PinReport(
            root: root, manifest: path, isDryRun: isDryRun, findings: found.map(\.finding))
        guard report.contradictions.isEmpty, !report.pinned.isEmpty else { return report }
        let text = try edit.text(pinning: PinScan.values(of: found))
        if !isDryRun {
            try file.write { sink in try sink(text) }
            report.isWritten = true
        }
        return report
    }

    /// The findings about the selected resources, each with the resource's position in the
    /// manifest.
    private func findings(
        of manifest: Manifest, options: PlanOptions
    ) throws -> [(position: Int, finding: PinFinding)] {
        let wanted = try Wanted([manifest], options: options, of: view.shard, index: view.index)
        if options.refusesUnknownNames { try wanted.refuseUnknownNames(options) }
        meter?.begin(.reading, total: wanted.entries.count)
        defer { meter?.end() }
        return try wanted.entries.map { entry in
            defer { meter?.add(files: 1) }
            return (Int(entry.resource), try finding(of: wanted.resource(of: entry)))
        }
    }

    /// The new values of the resources, by their positions in the manifest.
    private static func values(
        of findings: [(position: Int, finding: PinFinding)]
    ) -> [Int: PinnedValues] {
        findings.reduce(into: [:]) { values, found in
            switch found.finding.outcome {
            case .pin(let size, let sha256), .update(let size, let sha256):
                values[found.position] = PinnedValues(
                    size: size ? found.finding.size : nil,
                    sha256: sha256 ? found.finding.sha256?.hex : nil)
            case .keep, .leave, .contradiction: break
            }
        }
    }

    private func finding(of resource: Resource) throws -> PinFinding {
        guard let root = view.root, let record = try view.index?.record(for: resource.target)
        else {
            return .judge(resource, record: nil, isOfSource: false, size: nil, digests: [])
        }
        let other = resource.digests.first { $0.algorithm != .sha256 }?.algorithm
        meter?.name(resource.target)
        let read = try FileDigests.read(
            resource.target, in: root, algorithms: [.sha256] + [other].compactMap(\.self),
            isCancelled: isCancelled, hasRead: ActivityMeter.reading(meter))
        let keys = resource.sources.map { SourceKey($0.url) }
        let isOfSource = record.provenance.map { keys.contains($0.source) } ?? true
        return .judge(
            resource, record: record, isOfSource: isOfSource, size: read?.stamp.size,
            digests: read?.digests ?? [], updates: updates)
    }
}
