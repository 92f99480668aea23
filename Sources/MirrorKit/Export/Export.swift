internal import MirrorManifests
public import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// What another program reads of the files that manifests want.
///
/// Lists describe the files with what the manifests and the index know of them, whether or not they
/// are in the tree. Folders hold copies of files, each read again and compared with its digest; no
/// copy shares its bytes with the tree's file in a way that a change could pass.
public struct Export: Sendable {
    private let manifests: [Manifest]
    private let format: ExportFormat
    private let options: PlanOptions
    private let leavesOut: Bool

    /// Takes what is exported, and as what.
    ///
    /// - Parameters:
    ///   - manifests: the manifests that want the files.
    ///   - format: the list or folder.
    ///   - options: `only` and `skip` select resources by their tags.
    ///   - leavesOut: whether files that the format cannot hold, or that are not there, are left out
    ///     instead of refused.
    public init(
        of manifests: [Manifest], as format: ExportFormat, options: PlanOptions = PlanOptions(),
        leavesOut: Bool = false
    ) {
        (self.manifests, self.format) = (manifests, format)
        (self.options, self.leavesOut) = (options, leavesOut)
    }

    /// Writes the list or the folder.
    ///
    /// A folder appears whole or not at all, and replaces nothing; an existing file is replaced
    /// atomically.
    ///
    /// - Parameters:
    ///   - destination: where it goes.
    ///   - session: a session of the root with the files.
    /// - Throws: `MirrorError` with `exportIncomplete`, `usage`, `inputOutput`, `noSpace`,
    ///   `cancelled` and the like; `ManifestRefusal`. Nothing is written then.
    public func write(
        to destination: ExportDestination, from session: MirrorSession
    ) async throws -> ExportReport {
        try await session.engine.scan { view, isCancelled in
            if case .path(let path) = destination {
                try OwnFiles.refuse(path, amongFilesOf: session.root)
            }
            var choice = try ExportChoice(
                manifests, as: format, options: options, view: view, isCancelled: isCancelled)
            if !leavesOut, let refusal = choice.report.refusal { throw refusal }
            try choice.write(to: destination, root: session.root)
            return choice.report
        }
    }
}

/// Where an export goes.
public enum ExportDestination: Sendable {
    /// A file or a folder, by its path; folders must not be there yet.
    case path(String)
    /// A function that takes the chunks of a text. Folders cannot go there.
    case sink(@Sendable ([UInt8]) throws -> Void)
}
