internal import MirrorModel

extension ColumnReader {
    /// Reads the twenty columns that a record had until version 6 of the index: intents of a batch that
    /// an earlier mirror left are packed so.
    mutating func formerRecord() throws(IndexError) -> IndexRecord {
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
        let promotedAt = Instant(milliseconds: try int())
        let confirmedAt = Instant(milliseconds: try int())
        let freshUntil = try optionalInstant()
        return IndexRecord(
            target: target, owners: owners, stamp: stamp, sha256: sha256, otherDigest: otherDigest,
            provenance: provenance, validators: validators, mediaType: mediaType,
            isExecutable: try int() != 0, verified: verified, promotedAt: promotedAt,
            confirmedAt: confirmedAt, freshUntil: freshUntil)
    }
}
