extension RecordedDecision {
    /// The version of the format; a change that an older mirror would misread raises it.
    package static let format = 1

    /// Writes what stands before the decisions of a file; `endDocument` writes what stands behind.
    package static func beginDocument(in json: inout JSONWriter) {
        json.beginObject()
        json.member("v", format)
        json.member("mirror", MirrorVersion.current)
        json.key("decisions")
        json.beginArray()
    }

    /// Ends a document that `beginDocument` began.
    package static func endDocument(in json: inout JSONWriter) {
        json.endArray()
        json.endObject()
        json.newline()
    }

    /// Writes the decision as one JSON object; members that have nothing to say are left out.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("target", target.path)
            json.member("now", now.rfc3339)
            json.member("options", options.map(\.rawValue).sorted())
            json.key("wanted")
            json.object { situation.writeWanted(to: &$0) }
            json.key("file")
            json.object { situation.writeFile(to: &$0) }
            if let record = situation.record {
                json.key("row")
                json.object { record.writeMembers(to: &$0) }
            }
            if !situation.parts.isEmpty {
                json.key("parts")
                json.array { json in for part in situation.parts { part.write(to: &json) } }
            }
            json.some("sameBytesAt", situation.localSource?.path)
            if let orphan = situation.orphan {
                json.key("orphan")
                json.object { json in
                    json.member("target", orphan.target.path)
                    orphan.writeMembers(to: &json)
                }
            }
            json.key("decision")
            json.object { words.writeMembers(to: &$0) }
        }
    }
}

extension Situation {
    fileprivate func writeWanted(to json: inout JSONWriter) {
        json.member("manifest", owner)
        if owners != Owners(owner) { json.member("owners", owners.names) }
        json.member("url", resource.primary.url.description)
        if !sources.isEmpty { json.member("sources", sources.map(\.text)) }
        if resource.method != .get { json.member("method", "POST") }
        json.some("size", resource.size)
        if !resource.digests.isEmpty { json.member("digests", resource.digests.map(\.description)) }
        json.member("refresh", resource.refresh.description)
        if resource.isExecutable { json.member("executable", true) }
    }

    fileprivate func writeFile(to json: inout JSONWriter) {
        switch file {
        case .absent: json.member("kind", "absent")
        case .other(let kind): json.member("kind", kind.rawValue)
        case .file(let stamp, _):
            json.member("kind", "file")
            stamp.writeMembers(to: &json)
            if !digests.isEmpty { json.member("digests", digests.map(\.description)) }
            if isUnreadable { json.member("unreadable", true) }
        }
    }
}

extension FileStamp {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("size", size)
        json.member("modified", modified)
        json.member("changed", changed)
        json.member("inode", inode)
    }
}

extension IndexRecord {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("owners", owners.names)
        stamp.writeMembers(to: &json)
        json.member("sha256", sha256.hex)
        json.some("otherDigest", otherDigest?.description)
        if let provenance { provenance.writeMembers(to: &json) }
        validators.writeMembers(to: &json)
        if isExecutable { json.member("executable", true) }
        json.member("verified", verified.rawValue)
        json.member("promoted", promotedAt.rfc3339)
        json.member("confirmed", confirmedAt.rfc3339)
        json.some("freshUntil", freshUntil?.rfc3339)
    }
}

extension Provenance {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("source", source.text)
        json.member("answeredBy", answeredBy)
    }
}

extension Validators {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.some("etag", entityTag?.text)
        json.some("lastModified", lastModified?.seconds)
        if let strong { json.member("strong", strong.text) }
    }
}

extension StrongValidator {
    /// The tag as it was sent, or the date in seconds since 1970.
    fileprivate var text: String {
        switch self {
        case .entityTag(let tag): tag.text
        case .lastModified(let date): "\(date.seconds)"
        }
    }
}

extension PartRecord {
    /// Writes the lengths of what is there; no decision looks at the digests of the bytes so far.
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("name", name)
            switch identity {
            case .digest(let digest): json.member("digest", digest.description)
            case .version(let provenance, let validator):
                provenance.writeMembers(to: &json)
                json.member("strong", validator.text)
            case .anonymous: break
            }
            json.some("total", total)
            json.member("bytes", loggedLength)
            guard !extents.isEmpty else { return }
            json.key("extents")
            json.array { json in
                for range in extents.map(\.range) {
                    json.object { json in
                        json.member("start", range.lowerBound)
                        json.member("bytes", range.upperBound - range.lowerBound)
                    }
                }
            }
        }
    }
}

extension JSONWriter {
    /// Writes a member unless there is nothing to say.
    fileprivate mutating func some(_ name: StaticString, _ value: String?) {
        if let value { member(name, value) }
    }

    /// Writes a member unless there is nothing to say.
    fileprivate mutating func some(_ name: StaticString, _ value: Int64?) {
        if let value { member(name, value) }
    }
}
