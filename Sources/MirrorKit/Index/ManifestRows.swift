/// The row of a manifest that this root remembers, with the facts about its last good copy.
struct ManifestRecord: Sendable, Hashable {
    /// The manifest's name, unique in the root. The name is the owner of the manifest's targets.
    var name: String
    /// The path or URL that the last sync read the manifest from.
    var place: ManifestPlace
    /// How many resources the manifest had.
    var resources: Int?
    /// The stamp of the manifest's file when the copy was taken.
    ///
    /// A file that still has this stamp is not copied again.
    var stamp: FileStamp?
    /// When a sync of the manifest last ended that had steps, or found a new text or place.
    var syncedAt: Instant?
    /// When the last good copy was made, or last confirmed by the server.
    var copiedAt: Instant?
    /// The file in `.mirror/manifests/` that holds the last good copy.
    var copyName: String?
    /// The sha256 of the last good copy.
    var copyDigest: Digest?
    /// The source of the copy and the server that answered. `nil` if the manifest's place is a
    /// path.
    var provenance: Provenance?
    /// The validators that the server sent with the copy.
    var validators = Validators()
    /// Until when HTTP caching calls the copy fresh.
    var freshUntil: Instant?
    /// The user's hint for reading the manifest, if it is a list of another program.
    var hint = ListHint()
    /// The resources that the last sync of the manifest was to have.
    var selection = Selection()
}

extension ManifestPlace {
    /// The columns `kind`, `location` and `beside`.
    var columns: (kind: String, location: String?, beside: String?) {
        switch self {
        case .relative(let path): ("path", nil, path)
        case .either(let relative, let absolute): ("path", absolute, relative)
        case .absolute(let path): ("path", path, nil)
        case .url(let key): ("url", key.text, nil)
        }
    }

    /// Reads a place from its columns. Returns nil if the columns contradict each other.
    init?(kind: String, location: String?, beside: String?) {
        switch (kind, location, beside) {
        case ("path", nil, let beside?): self = .relative(beside)
        case ("path", let location?, let beside?):
            self = .either(relative: beside, absolute: location)
        case ("path", let location?, nil): self = .absolute(location)
        case ("url", let location?, nil): self = .url(SourceKey(text: location))
        default: return nil
        }
    }
}

private let manifestColumns = """
    name, kind, location, beside, resources, size, modified, changed, inode, synced_at, \
    copied_at, copy_name, copy_sha256, source, answered_by, entity_tag, last_modified, strong, \
    fresh_until, hint
    """

/// Rows of `manifests`, and the owners of files.
extension Database {
    /// The remembered manifests, in the order of their names.
    mutating func manifests() throws(IndexError) -> [ManifestRecord] {
        try all("SELECT \(manifestColumns) FROM manifests ORDER BY name") {
            (row: inout Row) throws(IndexError) in try row.manifest()
        }
    }

    /// Writes the row of a manifest, and replaces the earlier row of that name.
    mutating func put(_ manifest: ManifestRecord) throws(IndexError) {
        let place = manifest.place.columns
        try execute(
            """
            INSERT OR REPLACE INTO manifests (\(manifestColumns)) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        ) {
            $0.add(manifest.name)
            $0.add(place.kind)
            $0.add(place.location)
            $0.add(place.beside)
            $0.add(manifest.resources.map { Int64($0) })
            $0.add(manifest.stamp?.size)
            $0.add(manifest.stamp?.modified)
            $0.add(manifest.stamp?.changed)
            $0.add(manifest.stamp.map { Int64(bitPattern: $0.inode) })
            $0.add(manifest.syncedAt?.milliseconds)
            $0.add(manifest.copiedAt?.milliseconds)
            $0.add(manifest.copyName)
            $0.add(manifest.copyDigest?.bytes)
            $0.add(manifest.provenance)
            $0.add(manifest.validators)
            $0.add(manifest.freshUntil?.milliseconds)
            $0.add((manifest.hint.lines + manifest.selection.lines).joined(separator: "\n"))
        }
    }

    /// Removes the rows of a manifest and the names that servers chose for its files.
    ///
    /// The files of the manifest keep their rows.
    mutating func removeManifest(named name: String) throws(IndexError) {
        try execute("DELETE FROM manifests WHERE name = ?") { $0.add(name) }
        try execute("DELETE FROM server_names WHERE owner = ?") { $0.add(name) }
    }

    /// Removes a manifest from the owners of all its targets. A target without an owner loses its
    /// row.
    mutating func release(allOf name: String) throws(IndexError) {
        try execute("DELETE FROM files WHERE owner = ?") { $0.add(Owners(name).text) }
        try changeSharedOwners { $0.without(name) }
        try execute("DELETE FROM uses WHERE path NOT IN (SELECT path FROM files)")
    }

    /// Makes `new` the owner of all targets that `old` owned, and removes the row of `old`.
    mutating func renameManifest(_ old: String, to new: String) throws(IndexError) {
        try execute("UPDATE files SET owner = ? WHERE owner = ?") {
            $0.add(Owners(new).text)
            $0.add(Owners(old).text)
        }
        try changeSharedOwners { $0.renaming(old, to: new) }
        try execute("UPDATE OR REPLACE server_names SET owner = ? WHERE owner = ?") {
            $0.add(new)
            $0.add(old)
        }
        try execute("DELETE FROM manifests WHERE name = ?") { $0.add(old) }
    }

    private mutating func changeSharedOwners(_ change: (Owners) -> Owners) throws(IndexError) {
        let known = try all(
            "SELECT DISTINCT owner FROM files WHERE instr(owner, char(31)) > 0"
        ) {
            (row: inout Row) throws(IndexError) in Owners(text: try row.text())
        }
        for owners in known {
            let changed = change(owners)
            if changed == owners { continue }
            try execute("UPDATE files SET owner = ? WHERE owner = ?") {
                $0.add(changed.text)
                $0.add(owners.text)
            }
        }
    }
}

extension Row {
    fileprivate mutating func manifest() throws(IndexError) -> ManifestRecord {
        let name = try text()
        let kind = try text()
        let (location, beside) = (try optionalText(), try optionalText())
        guard let place = ManifestPlace(kind: kind, location: location, beside: beside) else {
            throw nonsense()
        }
        var manifest = ManifestRecord(name: name, place: place)
        manifest.resources = try optionalInt().map { Int(truncatingIfNeeded: $0) }
        manifest.stamp = try optionalStamp()
        manifest.syncedAt = try optionalInstant()
        manifest.copiedAt = try optionalInstant()
        manifest.copyName = try optionalText()
        if let bytes = try optionalBlob() {
            guard let digest = Digest(.sha256, bytes: bytes) else { throw nonsense() }
            manifest.copyDigest = digest
        }
        manifest.provenance = try provenance()
        manifest.validators = try validators()
        manifest.freshUntil = try optionalInstant()
        let lines = try text()
        (manifest.hint, manifest.selection) = (ListHint(lines: lines), Selection(lines: lines))
        return manifest
    }

    /// Reads the columns `size`, `modified`, `changed` and `inode`. Returns nil if all four are
    /// NULL.
    private mutating func optionalStamp() throws(IndexError) -> FileStamp? {
        switch (try optionalInt(), try optionalInt(), try optionalInt(), try optionalInt()) {
        case (let size?, let modified?, let changed?, let inode?):
            return FileStamp(
                size: size, modified: modified, changed: changed,
                inode: UInt64(bitPattern: inode))
        case (nil, nil, nil, nil): return nil
        default: throw nonsense()
        }
    }
}

private let prefix = "name "
private let separator: Character = "\u{1F}"

/// Rows of `server_names`: the targets of files whose names a server chose.
///
/// The first success fixes a name. The name stays when the file is removed, evicted or fetched
/// again, until its manifest is forgotten.
///
/// Before the first success a name is a proposal. A proposal is a row of `meta`, which is written
/// together with the intent of the promotion. The promotion fixes the name in the transaction that
/// writes the file's row; a failed promotion fixes no name. After a crash, the recovery settles
/// both rows. So the index knows the name of every file that a crash left at its final name.
/// Without this, the next run would fetch a second file.
extension Database {
    /// The target that a first success has fixed. Returns nil before a first success.
    mutating func serverName(of key: ServerNameKey) throws(IndexError) -> Target? {
        try first(
            "SELECT path FROM server_names WHERE owner = ? AND folder = ? AND source = ?"
        ) {
            $0.add(key.owner)
            $0.add(key.folder)
            $0.add(SourceKey(key.source).text)
        } read: { (row: inout Row) throws(IndexError) in
            try row.target()
        }
    }

    /// The bytes of the paths whose names servers chose.
    mutating func pathsNamedByServers() throws(IndexError) -> [[UInt8]] {
        try all("SELECT path FROM server_names") { (row: inout Row) throws(IndexError) in
            Array(try row.text().utf8)
        }
    }

    /// Fixes the target of a server's name. An earlier fixed target stays.
    mutating func fixServerName(_ target: Target, for key: ServerNameKey) throws(IndexError) {
        try fixServerName(target, owner: key.owner, SourceKey(key.source))
    }

    private mutating func fixServerName(
        _ target: Target, owner: String, _ source: SourceKey
    ) throws(IndexError) {
        try execute(
            "INSERT OR IGNORE INTO server_names (owner, folder, source, path) VALUES (?, ?, ?, ?)"
        ) {
            $0.add(owner)
            $0.add(target.folder)
            $0.add(source.text)
            $0.add(target.path)
        }
    }

    /// Writes the proposal of a promotion whose target a server chose. Has no effect on others.
    mutating func proposeServerName(_ promotion: Promotion) throws(IndexError) {
        guard let key = promotion.serverName else { return }
        try execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)") {
            $0.add(prefix + promotion.target.path)
            $0.add("\(SourceKey(key.source).text)\(separator)\(key.owner)")
        }
    }

    /// Removes the proposal for a target, if there is one; fixes the target if its file is there
    /// now.
    mutating func settleServerName(_ target: Target, isThere: Bool) throws(IndexError) {
        let proposal = try first("SELECT value FROM meta WHERE key = ?") {
            $0.add(prefix + target.path)
        } read: { (row: inout Row) throws(IndexError) in
            try row.text()
        }
        guard let proposal else { return }
        let fields = proposal.split(separator: separator, maxSplits: 1)
        if isThere, fields.count == 2 {
            try fixServerName(
                target, owner: String(fields[1]), SourceKey(text: String(fields[0])))
        }
        try execute("DELETE FROM meta WHERE key = ?") { $0.add(prefix + target.path) }
    }
}
