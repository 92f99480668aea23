private let columns = """
    name, target, kind, algorithm, digest, source, answered_by, identity_tag, identity_date, \
    total, entity_tag, last_modified, strong, media_type, runs, suggested_name
    """

/// Rows of `parts`, `part_provenances`, `milestones` and `extents`: unfinished downloads.
extension Database {
    /// The parts of one target, or all parts, in the order of their names.
    mutating func parts(for target: Target? = nil) throws(IndexError) -> [PartRecord] {
        let condition = target == nil ? "" : " WHERE target = ?"
        var parts = try all("SELECT \(columns) FROM parts\(condition) ORDER BY name") {
            if let target { $0.add(target.path) }
        } read: { (row: inout Row) throws(IndexError) in
            try row.part()
        }
        for at in parts.indices {
            let name = parts[at].name
            parts[at].provenances = try all(
                """
                SELECT source, answered_by FROM part_provenances WHERE part = ? ORDER BY position
                """
            ) {
                $0.add(name)
            } read: { (row: inout Row) throws(IndexError) in
                guard let provenance = try row.provenance() else { throw row.nonsense() }
                return provenance
            }
            parts[at].milestones = try all(
                "SELECT length, sha256 FROM milestones WHERE part = ? ORDER BY length"
            ) {
                $0.add(name)
            } read: { (row: inout Row) throws(IndexError) in
                Milestone(length: try row.int(), sha256: try row.digest(.sha256))
            }
            parts[at].extents = try extents(ofPart: name)
        }
        return parts
    }

    private mutating func extents(ofPart name: String) throws(IndexError) -> [Extent] {
        var extents: [Extent] = []
        try rows(
            "SELECT start, length, sha256 FROM extents WHERE part = ? ORDER BY start, length"
        ) {
            $0.add(name)
        } each: { (row: inout Row) throws(IndexError) in
            let start = try row.int()
            let milestone = Milestone(length: try row.int(), sha256: try row.digest(.sha256))
            if start < 0 || milestone.length < 0 { throw row.nonsense() }
            if extents.last?.start != start {
                extents.append(Extent(start: start, milestones: []))
            }
            extents[extents.count - 1].milestones.append(milestone)
        }
        return extents
    }

    /// The names of all parts, in order.
    mutating func partNames() throws(IndexError) -> [String] {
        try all("SELECT name FROM parts ORDER BY name") {
            (row: inout Row) throws(IndexError) in
            try row.text()
        }
    }

    /// Whether the index has a row for a part.
    mutating func hasPart(named name: String) throws(IndexError) -> Bool {
        try first("SELECT 1 FROM parts WHERE name = ?") {
            $0.add(name)
        } read: { (_: inout Row) throws(IndexError) in
            true
        } ?? false
    }

    /// Writes a part's row and its provenances, but no milestones; `log` writes milestones.
    mutating func put(_ part: PartRecord) throws(IndexError) {
        let parameters = Array(repeating: "?", count: 16).joined(separator: ", ")
        try execute(
            "INSERT OR REPLACE INTO parts (\(columns)) VALUES (\(parameters))"
        ) { $0.add(part) }
        try execute("DELETE FROM part_provenances WHERE part = ?") { $0.add(part.name) }
        for (position, provenance) in part.provenances.enumerated() {
            try execute(
                """
                INSERT INTO part_provenances (part, position, source, answered_by) \
                VALUES (?, ?, ?, ?)
                """
            ) {
                $0.add(part.name)
                $0.add(Int64(position))
                $0.add(provenance)
            }
        }
    }

    /// Records a milestone of a part: a length, counted from `start`, and the digest of these
    /// bytes.
    mutating func log(
        _ milestone: Milestone, from start: Int64 = 0, part name: String
    ) throws(IndexError) {
        // A late worker may log after its part's row was removed. Then the statement inserts no
        // row.
        guard start == 0 else {
            try execute(
                """
                INSERT OR REPLACE INTO extents (part, start, length, sha256) \
                SELECT name, ?, ?, ? FROM parts WHERE name = ?
                """
            ) {
                $0.add(start)
                $0.add(milestone.length)
                $0.add(milestone.sha256.bytes)
                $0.add(name)
            }
            return
        }
        try execute(
            """
            INSERT OR REPLACE INTO milestones (part, length, sha256) \
            SELECT name, ?, ? FROM parts WHERE name = ?
            """
        ) {
            $0.add(milestone.length)
            $0.add(milestone.sha256.bytes)
            $0.add(name)
        }
    }

    /// Removes all rows of a part.
    mutating func removePart(named name: String) throws(IndexError) {
        try execute("DELETE FROM parts WHERE name = ?") { $0.add(name) }
        try execute("DELETE FROM part_provenances WHERE part = ?") { $0.add(name) }
        try execute("DELETE FROM milestones WHERE part = ?") { $0.add(name) }
        try execute("DELETE FROM extents WHERE part = ?") { $0.add(name) }
    }
}

extension Binder {
    fileprivate mutating func add(_ part: PartRecord) {
        add(part.name)
        add(part.target.path)
        var digest: Digest?
        var provenance: Provenance?
        var tag: EntityTag?
        var date: HTTPDate?
        switch part.identity {
        case .digest(let value):
            add("digest")
            digest = value
        case .version(let from, let validator):
            add("version")
            provenance = from
            switch validator {
            case .entityTag(let value): tag = value
            case .lastModified(let value): date = value
            }
        case .anonymous: add("anonymous")
        }
        add(digest?.algorithm.rawValue)
        add(digest?.bytes)
        add(provenance)
        add(tag?.text)
        add(date?.seconds)
        add(part.total)
        add(part.validators)
        add(part.mediaType)
        add(Int64(part.runs))
        add(part.suggestedName)
    }
}

extension Row {
    /// Reads a row of `parts`; `parts(for:)` reads provenances and milestones separately.
    fileprivate mutating func part() throws(IndexError) -> PartRecord {
        let name = try text()
        if !PartRecord.isName(name) || name.utf8.contains(UInt8(ascii: "/")) { throw nonsense() }
        let target = try target()
        let kind = try text()
        let digest = try namedDigest()
        let provenance = try provenance()
        let tag = try entityTag()
        let date = try optionalInt().map { HTTPDate(seconds: $0) }
        let identity: PartIdentity
        switch (kind, digest, provenance, tag, date) {
        case ("digest", let digest?, _, _, _): identity = .digest(digest)
        case ("version", _, let from?, let tag?, _): identity = .version(from, .entityTag(tag))
        case ("version", _, let from?, _, let date?):
            identity = .version(from, .lastModified(date))
        case ("anonymous", _, _, _, _): identity = .anonymous
        default: throw nonsense()
        }
        let total = try optionalInt()
        let validators = try validators()
        let nowhere = Provenance(source: SourceKey(text: ""), answeredBy: "")
        var part = PartRecord(
            name: name, target: target, identity: identity, total: total, provenance: nowhere,
            validators: validators)
        part.provenances = []
        part.mediaType = try optionalText()
        part.runs = Int(clamping: try int())
        part.suggestedName = try optionalText()
        return part
    }
}
