private let insertion = """
    INSERT OR REPLACE INTO files (\(Schema.recordColumns)) VALUES (\(Schema.recordParameters))
    """

private let replacement = """
    UPDATE files SET (\(Schema.recordColumns)) = (\(Schema.recordParameters)) WHERE path = ?1
    """

/// Rows of `files` and `uses`: the files that mirror put in the tree, and when they were used.
extension Database {
    /// The record of a target. Returns nil if the target has no row.
    mutating func record(for target: Target) throws(IndexError) -> IndexRecord? {
        try first(Schema.records + " WHERE path = ?") {
            $0.add(target.path)
        } read: { (row: inout Row) throws(IndexError) in
            try row.record()
        }
    }

    /// The records of an owner, in the order of their paths' bytes.
    mutating func records(ownedBy owner: String) throws(IndexError) -> [IndexRecord] {
        try all(Schema.records + " WHERE owner = ? ORDER BY path") {
            $0.add(owner)
        } read: { (row: inout Row) throws(IndexError) in
            try row.record()
        }
    }

    /// The owners and stamps of the files under a folder.
    mutating func files(
        beneath folder: String
    ) throws(IndexError) -> [(path: String, owners: Owners, stamp: FileStamp)] {
        // `0` is the byte after `/`, so it ends the range of paths in the folder.
        try all(
            """
            SELECT path, owner, size, modified, changed, inode FROM files
            WHERE path >= ? AND path < ? ORDER BY path
            """
        ) {
            $0.add(folder + "/")
            $0.add(folder + "0")
        } read: { (row: inout Row) throws(IndexError) in
            (try row.text(), Owners(text: try row.text()), try row.stamp())
        }
    }

    /// The first targets whose paths are not less than a text, in the order of their bytes.
    mutating func targets(from path: String, limit: Int)
        throws(IndexError) -> [Target]
    {
        try all("SELECT path FROM files WHERE path >= ? ORDER BY path LIMIT ?") {
            $0.add(path)
            $0.add(Int64(limit))
        } read: { (row: inout Row) throws(IndexError) in
            try row.target()
        }
    }

    /// Writes a record, and replaces the target's earlier one. A given stamp replaces the record's
    /// stamp.
    mutating func put(_ record: IndexRecord, stamp: FileStamp? = nil) throws(IndexError) {
        try execute(insertion) { $0.add(record, stamp: stamp ?? record.stamp) }
    }

    /// Replaces the existing record of a target, with this stamp.
    ///
    /// Returns false, and writes nothing, if the target has no record.
    mutating func replace(_ record: IndexRecord, stamp: FileStamp)
        throws(IndexError) -> Bool
    {
        try execute(replacement) { $0.add(record, stamp: stamp) } > 0
    }

    /// Notes in a target's record when a server confirmed the file, and how long it stays fresh.
    ///
    /// Returns false, and writes nothing, if the target has no record.
    mutating func confirm(
        _ target: Target, at now: Instant, freshUntil: Instant?
    ) throws(IndexError) -> Bool {
        try execute("UPDATE files SET confirmed_at = ?, fresh_until = ? WHERE path = ?") {
            $0.add(now.milliseconds)
            $0.add(freshUntil?.milliseconds)
            $0.add(target.path)
        } > 0
    }

    /// Writes the owners of a target.
    mutating func setOwners(_ owners: Owners, of target: Target) throws(IndexError) {
        try execute("UPDATE files SET owner = ? WHERE path = ?") {
            $0.add(owners.text)
            $0.add(target.path)
        }
    }

    /// Gives the row of an unchanged file the stamp that the file has now.
    mutating func setStamp(_ stamp: FileStamp, ofFileAt path: String) throws(IndexError) {
        try execute(
            "UPDATE files SET size = ?, modified = ?, changed = ?, inode = ? WHERE path = ?"
        ) {
            $0.add(stamp.size)
            $0.add(stamp.modified)
            $0.add(stamp.changed)
            $0.add(Int64(bitPattern: stamp.inode))
            $0.add(path)
        }
    }

    /// Removes the rows of a target.
    mutating func removeRecord(of target: Target) throws(IndexError) {
        try removeRecord(path: target.path)
    }

    /// Removes the rows of the target with this path.
    mutating func removeRecord(path: String) throws(IndexError) {
        try execute("DELETE FROM files WHERE path = ?") { $0.add(path) }
        try execute("DELETE FROM uses WHERE path = ?") { $0.add(path) }
    }

    /// Notes when a target was last used. Eviction removes the files first that were used longest
    /// ago.
    mutating func noteUse(of target: Target, at instant: Instant) throws(IndexError) {
        try execute("INSERT OR REPLACE INTO uses (path, used_at) VALUES (?, ?)") {
            $0.add(target.path)
            $0.add(instant.milliseconds)
        }
    }
}

extension Binder {
    /// Adds the columns of `Schema.recordColumns`.
    mutating func add(_ record: IndexRecord, stamp: FileStamp) {
        add(record.target.path)
        add(record.owners.text)
        add(stamp.size)
        add(stamp.modified)
        add(stamp.changed)
        add(Int64(bitPattern: stamp.inode))
        add(record.sha256.bytes)
        add(record.isExecutable ? 1 : 0)
        add(record.otherDigest?.algorithm.rawValue)
        add(record.otherDigest?.bytes)
        add(record.verified.rawValue)
        add(record.promotedAt.milliseconds)
        add(record.confirmedAt.milliseconds)
        add(record.freshUntil?.milliseconds)
        add(record.provenance)
        add(record.validators)
        add(record.mediaType)
    }

    /// Adds the columns `source` and `answered_by`.
    mutating func add(_ provenance: Provenance?) {
        add(provenance?.source.text)
        add(provenance?.answeredBy)
    }

    /// Adds the columns `entity_tag`, `last_modified` and `strong`.
    mutating func add(_ validators: Validators) {
        add(validators.entityTag?.text)
        add(validators.lastModified?.seconds)
        switch validators.strong {
        case .entityTag: add(1)
        case .lastModified: add(2)
        case nil: add(nil as Int64?)
        }
    }
}

extension Row {
    /// Reads the columns of `Schema.recordColumns`.
    mutating func record() throws(IndexError) -> IndexRecord {
        let target = try target()
        let owners = Owners(text: try text())
        let stamp = try stamp()
        if stamp.size < 0 { throw nonsense() }
        let sha256 = try digest(.sha256)
        let isExecutable = try int() != 0
        let otherDigest = try namedDigest()
        guard let verified = Verification(rawValue: try text()) else { throw nonsense() }
        let promotedAt = Instant(milliseconds: try int())
        let confirmedAt = Instant(milliseconds: try int())
        let freshUntil = try optionalInstant()
        return IndexRecord(
            target: target, owners: owners, stamp: stamp, sha256: sha256, otherDigest: otherDigest,
            provenance: try provenance(), validators: try validators(),
            mediaType: try optionalText(), isExecutable: isExecutable, verified: verified,
            promotedAt: promotedAt, confirmedAt: confirmedAt, freshUntil: freshUntil)
    }

    /// Reads the columns `size`, `modified`, `changed` and `inode`.
    mutating func stamp() throws(IndexError) -> FileStamp {
        FileStamp(
            size: try int(), modified: try int(), changed: try int(),
            inode: UInt64(bitPattern: try int()))
    }

    /// Reads a column that holds a target.
    mutating func target() throws(IndexError) -> Target {
        let path = try text()
        do throws(TargetError) { return try Target(path) } catch { throw nonsense() }
    }

    /// Reads a column that holds a digest of the given algorithm.
    mutating func digest(_ algorithm: DigestAlgorithm) throws(IndexError) -> Digest {
        guard let digest = Digest(algorithm, bytes: try blob()) else { throw nonsense() }
        return digest
    }

    /// Reads two columns: an algorithm's name and a digest. Returns nil if both are NULL.
    mutating func namedDigest() throws(IndexError) -> Digest? {
        guard let name = try optionalText() else {
            if try optionalBlob() != nil { throw nonsense() }
            return nil
        }
        guard let algorithm = DigestAlgorithm(rawValue: name) else { throw nonsense() }
        return try digest(algorithm)
    }

    /// Reads a time in milliseconds. Returns nil for NULL.
    mutating func optionalInstant() throws(IndexError) -> Instant? {
        try optionalInt().map { Instant(milliseconds: $0) }
    }

    /// Reads the columns `source` and `answered_by`.
    mutating func provenance() throws(IndexError) -> Provenance? {
        switch (try optionalText(), try optionalText()) {
        case (let source?, let answeredBy?):
            return Provenance(source: SourceKey(text: source), answeredBy: answeredBy)
        case (nil, nil): return nil
        default: throw nonsense()
        }
    }

    /// Reads the columns `entity_tag`, `last_modified` and `strong`.
    mutating func validators() throws(IndexError) -> Validators {
        let tag = try entityTag()
        let date = try optionalInt().map { HTTPDate(seconds: $0) }
        let strong: StrongValidator?
        switch (try optionalInt(), tag, date) {
        case (nil, _, _): strong = nil
        case (1, let tag?, _): strong = .entityTag(tag)
        case (2, _, let date?): strong = .lastModified(date)
        default: throw nonsense()
        }
        return Validators(entityTag: tag, lastModified: date, strong: strong)
    }

    /// Reads an entity tag. Returns nil for NULL.
    mutating func entityTag() throws(IndexError) -> EntityTag? {
        guard let text = try optionalText() else { return nil }
        guard let tag = EntityTag(text) else { throw nonsense() }
        return tag
    }
}
