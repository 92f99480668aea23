internal import MirrorManifests
internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// The files that an export takes, chosen before anything is written.
struct ExportChoice {
    private(set) var report: ExportReport
    /// What is known of the files in a list.
    private var resources = ResourceTable([])
    /// The files of a folder, in the order of their targets' bytes.
    private(set) var copies: [ExportedCopy] = []
    private let view: TreeView
    private let isCancelled: @Sendable () -> Bool

    /// Selects resources and decides about each.
    init(
        _ manifests: [Manifest], as format: ExportFormat, options: PlanOptions, view: TreeView,
        isCancelled: @escaping @Sendable () -> Bool
    ) throws {
        report = ExportReport(format: format)
        self.view = view
        self.isCancelled = isCancelled
        let wanted = try Wanted(manifests, options: options, index: view.index)
        try wanted.refuseUnknownNames(options)
        var names: [String: Digest] = [:]
        for entry in wanted.entries {
            try take(wanted.resource(of: entry), &names)
            if isCancelled() { throw MirrorError(wrapping: CancellationError()) }
        }
    }

    private mutating func take(_ resource: Resource, _ names: inout [String: Digest]) throws {
        let format = report.format
        let record = try view.index?.record(for: resource.target)
        let described = record.flatMap { record in
            let keys = resource.sources.map { SourceKey($0.url) }
            return resource.described(
                by: record,
                isOfSource: record.provenance.map { keys.contains($0.source) } ?? true)
        }
        let isThere = try format.needsFiles && described != nil && hasFile(record)
        let resource = described ?? resource
        switch format.verdict(on: resource, isThere: isThere) {
        case .pass: report.passed += 1
        case .omit(let reason): report.omit(resource.target, reason)
        case .take(let name):
            if format.isFolder, let record {
                if let other = names.updateValue(record.sha256, forKey: name) {
                    // One copy serves two URLs of the same bytes.
                    if other != record.sha256 { report.omit(resource.target, .nameTaken) }
                    names[name] = other
                    return
                }
                copies.append(ExportedCopy(record: record, name: name))
                report.bytes += record.stamp.size
            } else {
                resources.append(
                    format == .metalink ? resource.withoutSecretsOfSources : resource)
            }
            report.files += 1
        }
    }

    /// Whether the tree has the bytes of a row: a file that was touched or copied is read again.
    private func hasFile(_ record: IndexRecord?) throws -> Bool {
        guard let record, let root = view.root else { return false }
        var scan = StatCursor(root)
        guard case .file(let stamp, _) = try scan.look(at: record.target) else { return false }
        if stamp == record.stamp { return true }
        guard stamp.size == record.stamp.size else { return false }
        let read = try FileDigests.read(record.target, in: root, isCancelled: isCancelled)
        return read?.digests.first == record.sha256
    }

    /// Writes what was chosen.
    mutating func write(to destination: ExportDestination, root path: String) throws {
        let writer = ExportWriter(report.format, root: path)
        let manifest = Manifest(name: nil, owner: report.format.rawValue, resources: resources)
        switch destination {
        case .sink(let sink):
            guard !report.format.isFolder else {
                throw MirrorError(.usage, "\(report.format.title) is a folder. Name a path for it.")
            }
            try writer.write(manifest, to: sink)
        case .path(let output):
            report.output = output
            if report.format.isFolder {
                guard let root = view.root else { return }
                let folder = try ExportFolder(at: output)
                do { try fill(folder, from: root) } catch {
                    folder.remove()
                    throw error
                }
            } else {
                try FileReplacement(of: output).write { sink in
                    try writer.write(manifest, to: sink)
                }
            }
        }
    }

    private func fill(_ folder: ExportFolder, from root: RootDirectory) throws {
        var bag = report.format == .bagit ? Bag(now: SystemClock.now()) : nil
        for copy in copies {
            if isCancelled() { throw MirrorError(wrapping: CancellationError()) }
            try folder.add(copy, from: root, isCancelled: isCancelled)
            bag?.add(copy)
        }
        for (name, text) in bag?.files ?? [] { try folder.add(text, named: name) }
        try folder.promote()
    }
}

/// A file that goes into a folder.
struct ExportedCopy {
    let record: IndexRecord
    /// Its path in the folder.
    let name: String
}
