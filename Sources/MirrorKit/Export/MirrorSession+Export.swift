internal import MirrorManifests
public import MirrorModel
internal import MirrorStore
internal import MirrorSystem

extension MirrorSession {
    /// Writes what another program reads of the files that manifests want.
    ///
    /// Lists describe the files with what the manifests and the index know of them, whether or not
    /// they are in the tree. Folders hold copies of files, each read again and compared with its
    /// digest; no copy shares its bytes with the tree's file in a way that a change could pass. A
    /// folder appears whole or not at all, and replaces nothing; an existing file is replaced
    /// atomically.
    ///
    /// - Parameters:
    ///   - options: `only` and `skip` select resources by their tags.
    ///   - leavesOut: whether files that the format cannot hold, or that are not there, are left out
    ///     instead of refused.
    ///   - destination: where it goes.
    /// - Throws: `MirrorError` with `exportIncomplete`, `usage`, `inputOutput`, `noSpace`,
    ///   `cancelled` and the like; `ManifestRefusal`. Nothing is written then.
    public func export(
        _ manifests: [Manifest], as format: ExportFormat, options: PlanOptions = PlanOptions(),
        leavesOut: Bool = false, to destination: ExportDestination
    ) async throws -> ExportReport {
        let path = root
        return try await engine.scan { view, isCancelled in
            var export = try Export(
                manifests, as: format, options: options, view: view, isCancelled: isCancelled)
            if !leavesOut, let refusal = export.report.refusal { throw refusal }
            try export.write(to: destination, root: path)
            return export.report
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
