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

/// Texts of the row that was read last, which the next one mostly has too.
struct KnownTexts {
    fileprivate var owners: String?
    fileprivate var mediaType: String?
}

extension ColumnReader {
    /// Reads the columns of `Schema.recordColumns`.
    mutating func record() throws(IndexError) -> IndexRecord {
        var known = KnownTexts()
        return try record(known: &known)
    }

    /// The same, of one of many rows.
    mutating func record(known: inout KnownTexts) throws(IndexError) -> IndexRecord {
        try readRecord(of: try target(), known: &known)
    }

    /// Reads the columns behind the first, which is the target's.
    fileprivate mutating func readRecord(
        of target: Target, known: inout KnownTexts
    ) throws(IndexError) -> IndexRecord {
        let owners = Owners(text: try text(known: known.owners))
        known.owners = owners.text
        let size = try int()
        if size < 0 { throw nonsense() }
        let stamp = FileStamp(
            size: size, modified: try int(), changed: try int(),
            inode: UInt64(bitPattern: try int()))
        let sha256 = try digest(.sha256)
        let otherDigest = try namedDigest()
        let provenance = try provenance()
        let validators = try validators()
        let mediaType = try optionalText(known: known.mediaType)
        known.mediaType = mediaType
        let verified = try verification()
        let promotedAt = Instant(milliseconds: try int())
        let confirmedAt = Instant(milliseconds: try int())
        let freshUntil = try optionalInstant()
        let isExecutable = try int() != 0
        return IndexRecord(
            target: target, owners: owners, stamp: stamp, sha256: sha256, otherDigest: otherDigest,
            provenance: provenance, validators: validators, mediaType: mediaType,
            isExecutable: isExecutable, verified: verified, promotedAt: promotedAt,
            confirmedAt: confirmedAt, freshUntil: freshUntil)
    }

    private mutating func verification() throws(IndexError) -> Verification {
        let word = try text()
        // Texts as short as these are compared in a register.
        if word == "digest" { return .digest }
        if word == "size" { return .size }
        guard let verification = Verification(rawValue: word) else { throw nonsense() }
        return verification
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
        // Mostly the source itself answered.
        let source = try optionalText()
        switch (source, try optionalText(known: source)) {
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
    /// Reads the columns of `Schema.recordColumns`, of which the first is a target that is known.
    mutating func record(
        of target: Target, known: inout KnownTexts
    ) throws(IndexError) -> IndexRecord {
        skip()
        return try readRecord(of: target, known: &known)
    }

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
