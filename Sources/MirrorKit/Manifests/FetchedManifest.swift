internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// The facts about a manifest that a session has read, for the index to remember.
struct FetchedManifest: Sendable {
    var record: ManifestRecord
    /// The path that it was read from; nil for a URL.
    var path: String?
    /// The text that becomes the last good copy; nil if the copy is current.
    var text: ManifestText?

    /// The `whereabouts` of the manifest that these facts belong to.
    var whereabouts: Manifest.Whereabouts {
        if case .url(let key) = record.place { return .url(key) }
        return .file(path: path ?? "")
    }

    /// The row to write, after its copy; nil if the existing row says the same.
    func record(
        after row: ManifestRecord?, in root: RootDirectory, at rootPath: String, isSynced: Bool,
        copy: ManifestCopy.Taken?
    ) throws(MirrorError) -> ManifestRecord? {
        var record = record
        record.place = path.map { ManifestPlace(path: $0, root: rootPath) } ?? record.place
        record.syncedAt = SystemClock.now()
        let hasCopy = row.map { ManifestCopy.isThere($0, in: root) } ?? false
        let isSame =
            hasCopy && row?.place == record.place && row?.stamp == record.stamp
            && row?.hint == record.hint
        if path != nil, isSame, !isSynced, row?.hint == record.hint { return nil }
        if path == nil, text == nil {
            // The server confirmed the copy that the row named.
            record.copiedAt = SystemClock.now()
        } else if let row, isSame, path != nil {
            (record.copyName, record.copyDigest) = (row.copyName, row.copyDigest)
            record.copiedAt = row.copiedAt
        } else {
            try takeCopy(into: &record, after: hasCopy ? row : nil, root, copy)
        }
        return record
    }

    /// Whether its file has not been written to since it was read.
    var isAsRead: Bool {
        guard case .open(let file)? = text else { return true }
        return (try? file.status(path: path ?? ""))?.stamp == record.stamp
    }

    /// Takes a copy of the text, unless the previous copy has the same text.
    private func takeCopy(
        into record: inout ManifestRecord, after row: ManifestRecord?, _ root: RootDirectory,
        _ taken: ManifestCopy.Taken?
    ) throws(MirrorError) {
        guard let text else { return }
        if case .open(let file) = text {
            guard isAsRead else {
                // The file was written to since it was read, so the next run takes the copy.
                record.stamp = nil
                (record.copyName, record.copyDigest) = (row?.copyName, row?.copyDigest)
                record.copiedAt = row?.copiedAt
                return
            }
            if let row, let known = row.copyDigest,
                let digest = try? ManifestCopy.digest(of: file, path: path ?? ""), digest == known
            {
                (record.copyName, record.copyDigest) = (row.copyName, row.copyDigest)
                record.copiedAt = row.copiedAt
                return
            }
        }
        var copy = taken.flatMap { ManifestCopy.isThere($0.name, in: root) ? $0 : nil }
        if copy == nil { copy = try ManifestCopy.write(text, of: record.name, in: root) }
        guard let copy else { return }
        (record.copyName, record.copyDigest) = (copy.name, copy.digest)
        record.copiedAt = SystemClock.now()
    }
}
