internal import MirrorModel

extension ColumnWriter where Self: ~Copyable {
    /// Adds the columns of `Schema.recordColumns`.
    mutating func add(_ record: IndexRecord, stamp: FileStamp) {
        add(record.target.path)
        add(record.owners.text)
        add(stamp.size)
        add(stamp.modified)
        add(stamp.changed)
        add(Int64(bitPattern: stamp.inode))
        add(record.sha256.bytes)
        add(record.otherDigest?.algorithm.rawValue)
        add(record.otherDigest?.bytes)
        add(record.provenance)
        add(record.validators)
        add(record.mediaType)
        add(record.verified.rawValue)
        add(record.promotedAt.milliseconds)
        add(record.confirmedAt.milliseconds)
        add(record.freshUntil?.milliseconds)
        add(record.isExecutable ? 1 : 0)
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

extension ColumnReader {
    /// Reads the columns of `Schema.recordColumns`.
    mutating func record() throws(IndexError) -> IndexRecord {
        let target = try target()
        let owners = Owners(text: try text())
        let size = try int()
        if size < 0 { throw nonsense() }
        let stamp = FileStamp(
            size: size, modified: try int(), changed: try int(),
            inode: UInt64(bitPattern: try int()))
        let sha256 = try digest(.sha256)
        let otherDigest = try namedDigest()
        let provenance = try provenance()
        let validators = try validators()
        let mediaType = try optionalText()
        guard let verified = Verification(rawValue: try text()) else { throw nonsense() }
        var record = IndexRecord(
            target: target, owner: "", stamp: stamp, sha256: sha256, verified: verified,
            promotedAt: Instant(milliseconds: try int()))
        record.owners = owners
        record.otherDigest = otherDigest
        record.provenance = provenance
        record.validators = validators
        record.mediaType = mediaType
        record.confirmedAt = Instant(milliseconds: try int())
        record.freshUntil = try optionalInstant()
        record.isExecutable = try int() != 0
        return record
    }

    /// A column that holds a target.
    mutating func target() throws(IndexError) -> Target {
        let path = try text()
        do throws(TargetFlaw) { return try Target(path) } catch { throw nonsense() }
    }

    /// A column that holds a digest of a known algorithm.
    mutating func digest(_ algorithm: DigestAlgorithm) throws(IndexError) -> Digest {
        guard let digest = Digest(algorithm, bytes: try blob()) else { throw nonsense() }
        return digest
    }

    /// Two columns: an algorithm's name and a digest, or NULL and NULL.
    mutating func namedDigest() throws(IndexError) -> Digest? {
        guard let name = try optionalText() else {
            if try optionalBlob() != nil { throw nonsense() }
            return nil
        }
        guard let algorithm = DigestAlgorithm(rawValue: name) else { throw nonsense() }
        return try digest(algorithm)
    }

    /// A column that holds a time in milliseconds, or NULL.
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

    /// A column that holds an entity tag, or NULL.
    mutating func entityTag() throws(IndexError) -> EntityTag? {
        guard let text = try optionalText() else { return nil }
        guard let tag = EntityTag(text) else { throw nonsense() }
        return tag
    }
}

extension Row {
    /// Checks the columns of `Schema.recordColumns` without making values; throws where `record`
    /// would.
    mutating func checkRecord() throws(IndexError) {
        try checkText(Target.isSound)
        try checkText()
        if try int() < 0 { throw nonsense() }
        for _ in 1...3 { _ = try int() }
        try checkBlob(count: DigestAlgorithm.sha256.byteCount)
        _ = try namedDigest()
        let hasSource = try checkOptionalText()
        guard try checkOptionalText() == hasSource else { throw nonsense() }
        let hasTag = try checkOptionalText(EntityTag.isSound)
        let hasDate = try optionalInt() != nil
        switch try optionalInt() {
        case nil: break
        case 1 where hasTag: break
        case 2 where hasDate: break
        default: throw nonsense()
        }
        _ = try checkOptionalText()
        guard Verification(rawValue: try text()) != nil else { throw nonsense() }
        for _ in 1...2 { _ = try int() }
        _ = try optionalInt()
        _ = try int()
    }
}
