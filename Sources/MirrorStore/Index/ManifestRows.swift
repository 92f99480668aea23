internal import MirrorModel

/// Rows of `manifests`, and what manifests own.
enum ManifestRows {
    private static let manifestColumns = """
        name, kind, location, beside, resources, size, modified, changed, inode, synced_at, \
        copied_at, copy_name, copy_sha256, source, answered_by, entity_tag, last_modified, strong, \
        fresh_until
        """

    /// The remembered manifests, in the order of their names.
    static func manifests(in database: inout Database) throws(IndexError) -> [ManifestRecord] {
        let hints = try hints(in: &database)
        return try database.all("SELECT \(manifestColumns) FROM manifests ORDER BY name") {
            (row: inout Row) throws(IndexError) in
            var manifest = try row.manifest()
            manifest.hint = hints[manifest.name] ?? ListHint()
            return manifest
        }
    }

    // The hints of lists: a row of `meta` for each, named after the manifest.
    private static let hintPrefix = "list "

    private static func hints(
        in database: inout Database
    ) throws(IndexError) -> [String: ListHint] {
        let rows = try database.all(
            "SELECT key, value FROM meta WHERE key >= 'list ' AND key < 'list!'"
        ) {
            (row: inout Row) throws(IndexError) in (try row.text(), try row.text())
        }
        return rows.reduce(into: [:]) { hints, row in
            hints[String(row.0.dropFirst(hintPrefix.count))] = ListHint(text: row.1)
        }
    }

    private static func put(
        _ hint: ListHint, of name: String, in database: inout Database
    ) throws(IndexError) {
        guard !hint.text.isEmpty else { return try removeHint(of: name, in: &database) }
        try database.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)") {
            $0.add(hintPrefix + name)
            $0.add(hint.text)
        }
    }

    private static func removeHint(of name: String, in database: inout Database) throws(IndexError)
    {
        try database.execute("DELETE FROM meta WHERE key = ?") { $0.add(hintPrefix + name) }
    }

    /// Remembers a manifest, or what changed about it.
    static func put(_ manifest: ManifestRecord, in database: inout Database) throws(IndexError) {
        let place = manifest.place.columns
        try put(manifest.hint, of: manifest.name, in: &database)
        try database.execute(
            """
            INSERT OR REPLACE INTO manifests (\(manifestColumns)) \
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
    static func remove(named name: String, in database: inout Database) throws(IndexError) {
        try removeHint(of: name, in: &database)
        try database.execute("DELETE FROM manifests WHERE name = ?") { $0.add(name) }
        try database.execute("DELETE FROM server_names WHERE owner = ?") { $0.add(name) }
    }

    /// Removes a manifest from the owners of all its targets; a target without an owner loses its row.
    static func release(allOf name: String, in database: inout Database) throws(IndexError) {
        try database.execute("DELETE FROM files WHERE owner = ?") { $0.add(Owners(name).text) }
        try changeSharedOwners(in: &database) { $0.without(name) }
        try database.execute("DELETE FROM uses WHERE path NOT IN (SELECT path FROM files)")
    }

    /// Gives all that a manifest owns to its new name.
    static func rename(
        _ old: String, to new: String, in database: inout Database
    ) throws(IndexError) {
        try database.execute("UPDATE files SET owner = ? WHERE owner = ?") {
            $0.add(Owners(new).text)
            $0.add(Owners(old).text)
        }
        try changeSharedOwners(in: &database) { $0.renaming(old, to: new) }
        try database.execute("UPDATE OR REPLACE server_names SET owner = ? WHERE owner = ?") {
            $0.add(new)
            $0.add(old)
        }
        try removeHint(of: old, in: &database)
        try database.execute("DELETE FROM manifests WHERE name = ?") { $0.add(old) }
    }

    private static func changeSharedOwners(
        in database: inout Database, _ change: (Owners) -> Owners
    ) throws(IndexError) {
        let known = try database.all(
            "SELECT DISTINCT owner FROM files WHERE instr(owner, char(31)) > 0"
        ) {
            (row: inout Row) throws(IndexError) in Owners(text: try row.text())
        }
        for owners in known {
            let changed = change(owners)
            if changed == owners { continue }
            try database.execute("UPDATE files SET owner = ? WHERE owner = ?") {
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
