extension StoredFile {
    /// Writes the file as one JSON object; keys that do not apply are null.
    public func write(to json: inout JSONWriter) {
        var facts = FileFacts<String, [UInt8]>(path: target.path, state: state)
        facts.owners = owners?.text
        facts.size = size
        facts.sha256 = sha256?.bytes
        facts.verified = verified
        facts.source = source
        facts.confirmedAt = confirmedAt
        facts.freshness = freshness
        facts.isOrphan = isOrphan
        facts.partBytes = partBytes
        facts.conflictOf = conflictOf?.path
        facts.write(to: &json)
    }
}

/// What documents in JSON say of a file.
///
/// The texts are strings, or bytes of a row of the index, of which no string is made: a document may
/// have a million files.
struct FileFacts<Text: LentBytes, Bytes: LentBytes> {
    let path: Text
    let state: StoredFile.State
    /// As `Owners` keeps them.
    var owners: Text?
    var size: Int64?
    var sha256: Bytes?
    var verified: Verification?
    var source: Text?
    var confirmedAt: Instant?
    var freshness: Freshness?
    var isOrphan = false
    var partBytes: Int64 = 0
    var conflictOf: Text?

    init(path: Text, state: StoredFile.State) {
        self.path = path
        self.state = state
    }

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("path", lent: path)
        json.member("state", state.rawValue)
        writeOwners(to: &json)
        json.member("size", size)
        json.member("sha256", hexOf: sha256)
        json.member("verified", verified?.rawValue)
        json.member("source", lent: source)
        json.member("confirmed", confirmedAt)
        json.member("fresh", freshness?.word)
        json.member("freshUntil", freshness?.end)
        json.member("orphan", isOrphan)
        json.member("partBytes", partBytes)
        json.member("conflictOf", lent: conflictOf)
        json.endObject()
    }

    /// The first owner, and all of them.
    private func writeOwners(to json: inout JSONWriter) {
        guard let owners else {
            json.key("manifest")
            json.null()
            json.key("manifests")
            return json.array { _ in }
        }
        owners.withBytes { text in
            // Nearly every file has one owner, for which no list is made.
            let names = Owners.areShared(text) ? Owners.names(in: text) : []
            json.member("manifest", lent: names.first ?? (text.isEmpty ? nil : text))
            json.key("manifests")
            json.beginArray()
            if names.isEmpty, !text.isEmpty { json.string(utf8: text) }
            for name in names { json.string(utf8: name) }
            json.endArray()
        }
    }
}
