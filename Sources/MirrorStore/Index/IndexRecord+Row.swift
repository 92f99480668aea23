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
        add(record.isExecutable ? 1 : 0)
        add(record.otherDigest?.bytes)
        add(record.provenance?.source.text)
        add(record.confirmedAt.milliseconds)
        add(record.freshUntil?.milliseconds)
        RecordDetails.withText(of: record) { add(text: $0) }
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
        let isExecutable = try int() != 0
        let otherBytes = try optionalBlob()
        let source = try optionalText()
        let confirmedAt = Instant(milliseconds: try int())
        let freshUntil = try optionalInstant()
        let details = try details(knownType: known.mediaType)
        known.mediaType = details.mediaType
        return IndexRecord(
            target: target, owners: owners, stamp: stamp, sha256: sha256,
            otherDigest: try otherDigest(otherBytes, details),
            provenance: try provenance(source, details), validators: details.validators,
            mediaType: details.mediaType, isExecutable: isExecutable, verified: details.verified,
            promotedAt: details.promotedAt, confirmedAt: confirmedAt, freshUntil: freshUntil)
    }

    /// The column `details`.
    mutating func details(knownType: String? = nil) throws(IndexError) -> RecordDetails {
        let details = try withText { RecordDetails($0, knownType: knownType) }
        guard let details else { throw nonsense() }
        return details
    }

    fileprivate func otherDigest(
        _ bytes: [UInt8]?, _ details: RecordDetails
    ) throws(IndexError) -> Digest? {
        switch (bytes, details.otherAlgorithm) {
        case (nil, nil): return nil
        case (let bytes?, let algorithm?):
            guard let digest = Digest(algorithm, bytes: bytes) else { throw nonsense() }
            return digest
        default: throw nonsense()
        }
    }

    private func provenance(
        _ source: String?, _ details: RecordDetails
    ) throws(IndexError) -> Provenance? {
        guard let source else {
            if details.answeredBy != nil { throw nonsense() }
            return nil
        }
        return Provenance(
            source: SourceKey(text: source), answeredBy: details.answeredBy ?? source)
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

    /// Checks the columns of `Schema.recordColumns` without making most values; throws where `record`
    /// would.
    mutating func checkRecord() throws(IndexError) {
        try checkText(Target.isSound)
        try checkText()
        if try int() < 0 { throw nonsense() }
        for _ in 1...3 { _ = try int() }
        try checkBlob(count: DigestAlgorithm.sha256.byteCount)
        _ = try int()
        let otherBytes = try optionalBlob()
        let hasSource = try checkOptionalText()
        _ = try int()
        _ = try optionalInt()
        let details = try details()
        if !hasSource, details.answeredBy != nil { throw nonsense() }
        _ = try otherDigest(otherBytes, details)
    }
}
