internal import MirrorModel

/// Rows of `manifests`, and what manifests own.
extension Database {
    private static let manifestColumns = """
        name, kind, location, beside, resources, size, modified, changed, inode, synced_at, \
        copied_at, copy_name, copy_sha256, source, answered_by, entity_tag, last_modified, strong, \
        fresh_until
        """

    /// The remembered manifests, in the order of their names.
    mutating func manifests() throws(IndexError) -> [ManifestRecord] {
        let hints = try hints()
        return try all("SELECT \(Database.manifestColumns) FROM manifests ORDER BY name") {
            (row: inout Row) throws(IndexError) in
            var manifest = try row.manifest()
            manifest.hint = hints[manifest.name] ?? ListHint()
            return manifest
        }
    }

    // The hints of lists: a row of `meta` for each, named after the manifest.
    private static let hintPrefix = "list "

    private mutating func hints() throws(IndexError) -> [String: ListHint] {
        let rows = try all("SELECT key, value FROM meta WHERE key >= 'list ' AND key < 'list!'") {
            (row: inout Row) throws(IndexError) in (try row.text(), try row.text())
        }
        return rows.reduce(into: [:]) { hints, row in
            hints[String(row.0.dropFirst(Database.hintPrefix.count))] = ListHint(text: row.1)
        }
    }

    private mutating func put(_ hint: ListHint, of name: String) throws(IndexError) {
        guard !hint.text.isEmpty else { return try removeHint(of: name) }
        try execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)") {
            $0.add(Database.hintPrefix + name)
            $0.add(hint.text)
        }
    }

    private mutating func removeHint(of name: String) throws(IndexError) {
        try execute("DELETE FROM meta WHERE key = ?") { $0.add(Database.hintPrefix + name) }
    }

    /// Remembers a manifest, or what changed about it.
    mutating func put(_ manifest: ManifestRecord) throws(IndexError) {
        let place = manifest.place.columns
        try put(manifest.hint, of: manifest.name)
        try execute(
            """
            INSERT OR REPLACE INTO manifests (\(Database.manifestColumns)) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
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
        }
    }

    /// Forgets a manifest, and the names that servers gave to its files; its files keep their rows.
    mutating func removeManifest(named name: String) throws(IndexError) {
        try removeHint(of: name)
        try execute("DELETE FROM manifests WHERE name = ?") { $0.add(name) }
        try execute("DELETE FROM server_names WHERE owner = ?") { $0.add(name) }
    }

    /// Writes who owns a target.
    mutating func setOwners(_ owners: Owners, of target: Target) throws(IndexError) {
        try execute("UPDATE files SET owner = ? WHERE path = ?") {
            $0.add(owners.text)
            $0.add(target.path)
        }
    }

    /// Removes a manifest from the owners of all its targets; a target without an owner loses its row.
    mutating func release(allOf name: String) throws(IndexError) {
        try execute("DELETE FROM files WHERE owner = ?") { $0.add(Owners(name).text) }
        try changeSharedOwners { $0.without(name) }
        try execute("DELETE FROM uses WHERE path NOT IN (SELECT path FROM files)")
    }

    /// Gives all that a manifest owns to its new name.
    mutating func rename(_ old: String, to new: String) throws(IndexError) {
        try execute("UPDATE files SET owner = ? WHERE owner = ?") {
            $0.add(Owners(new).text)
            $0.add(Owners(old).text)
        }
        try changeSharedOwners { $0.renaming(old, to: new) }
        try execute("UPDATE OR REPLACE server_names SET owner = ? WHERE owner = ?") {
            $0.add(new)
            $0.add(old)
        }
        try removeHint(of: old)
        try execute("DELETE FROM manifests WHERE name = ?") { $0.add(old) }
    }

    private mutating func changeSharedOwners(
        _ change: (Owners) -> Owners
    ) throws(IndexError) {
        let known = try all("SELECT DISTINCT owner FROM files WHERE instr(owner, char(31)) > 0") {
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
        return manifest
    }

    /// The columns `size`, `modified`, `changed` and `inode`, or four times NULL.
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
