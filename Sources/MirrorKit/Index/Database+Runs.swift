internal import MirrorModel

/// Rows of `manifests`, `runs` and `server_names`: what outlives a run besides files and parts.
extension Database {
    /// The remembered manifests, in the order of their locations.
    mutating func manifests() throws(IndexError) -> [ManifestRecord] {
        try all(
            """
            SELECT location, owner, kind, synced_at, copy_name, copy_sha256, source, answered_by, \
            entity_tag, last_modified, strong, fresh_until FROM manifests ORDER BY location
            """
        ) { (row: inout Row) throws(IndexError) in try row.manifest() }
    }

    /// Remembers a manifest, or what changed about it.
    mutating func put(_ manifest: ManifestRecord) throws(IndexError) {
        try execute(
            """
            INSERT OR REPLACE INTO manifests (location, owner, kind, synced_at, copy_name, \
            copy_sha256, source, answered_by, entity_tag, last_modified, strong, fresh_until) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        ) {
            $0.add(manifest.location)
            $0.add(manifest.owner)
            $0.add(manifest.kind.rawValue)
            $0.add(manifest.syncedAt?.milliseconds)
            $0.add(manifest.copyName)
            $0.add(manifest.copyDigest?.bytes)
            $0.add(manifest.provenance)
            $0.add(manifest.validators)
            $0.add(manifest.freshUntil?.milliseconds)
        }
    }

    /// Forgets a manifest.
    mutating func removeManifest(at location: String) throws(IndexError) {
        try execute("DELETE FROM manifests WHERE location = ?") { $0.add(location) }
    }

    /// The runs, the earliest id first.
    mutating func runs() throws(IndexError) -> [RunRecord] {
        try all("SELECT id, started_at, ended_at, exit, summary FROM runs ORDER BY id") {
            (row: inout Row) throws(IndexError) in
            RunRecord(
                id: try row.text(), startedAt: Instant(milliseconds: try row.int()),
                endedAt: try row.optionalInstant(),
                exit: try row.optionalInt().map { Int32(truncatingIfNeeded: $0) },
                summary: try row.optionalText())
        }
    }

    /// Writes a run's row, and forgets all but the latest hundred.
    mutating func put(_ run: RunRecord) throws(IndexError) {
        try execute(
            """
            INSERT OR REPLACE INTO runs (id, started_at, ended_at, exit, summary) \
            VALUES (?, ?, ?, ?, ?)
            """
        ) {
            $0.add(run.id)
            $0.add(run.startedAt.milliseconds)
            $0.add(run.endedAt?.milliseconds)
            $0.add(run.exit.map { Int64($0) })
            $0.add(run.summary)
        }
        try execute(
            "DELETE FROM runs WHERE id NOT IN (SELECT id FROM runs ORDER BY id DESC LIMIT 100)")
    }

    /// The target that a server's suggestion was fixed to; nil when there was none yet.
    mutating func serverName(
        owner: String, folder: String, source: SourceKey
    ) throws(IndexError) -> Target? {
        try first(
            "SELECT path FROM server_names WHERE owner = ? AND folder = ? AND source = ?"
        ) {
            $0.add(owner)
            $0.add(folder)
            $0.add(source.text)
        } read: { (row: inout Row) throws(IndexError) in
            try row.target()
        }
    }

    /// Fixes the target that a server's suggestion stands for.
    mutating func putServerName(
        _ target: Target, owner: String, folder: String, source: SourceKey
    ) throws(IndexError) {
        try execute(
            """
            INSERT OR REPLACE INTO server_names (owner, folder, source, path) VALUES (?, ?, ?, ?)
            """
        ) {
            $0.add(owner)
            $0.add(folder)
            $0.add(source.text)
            $0.add(target.path)
        }
    }
}

extension Row {
    fileprivate mutating func manifest() throws(IndexError) -> ManifestRecord {
        let location = try text()
        let owner = try text()
        guard let kind = ManifestRecord.Kind(rawValue: try text()) else { throw nonsense() }
        var manifest = ManifestRecord(location: location, owner: owner, kind: kind)
        manifest.syncedAt = try optionalInstant()
        manifest.copyName = try optionalText()
        if let bytes = try optionalBlob() {
            guard let digest = Digest(.sha256, bytes: bytes) else { throw nonsense() }
            manifest.copyDigest = digest
        }
        manifest.provenance = try provenance()
        manifest.validators = try validators()
        manifest.freshUntil = try optionalInstant()
        return manifest
    }
}
