internal import MirrorManifests
public import MirrorModel

extension RecordedDecision {
    /// Reads the decisions of a file that recorded them; `file` is its name in errors.
    ///
    /// Throws `ManifestRefusal`, whose diagnostic has line and column, for a text that is no such
    /// file, or that a newer mirror wrote.
    public static func decisions(
        in bytes: [UInt8], file: String
    ) throws(ManifestRefusal) -> [RecordedDecision] {
        let tree = try JSONTree(bytes, file: file)
        // A newer format may have keys that this version does not know, so its number comes first.
        if let version = tree["v"], let number = version.int, number > format {
            throw ManifestRefusal(
                file: file, at: version.place,
                "version \(number) was written for a newer mirror; this one reads \(format)")
        }
        if case .object = tree.value, tree["v"] == nil, tree["decisions"] == nil {
            throw ManifestRefusal(
                file: file, at: tree.place, "these are no recorded decisions, but something else")
        }
        let document = try JSONFields(tree, keys: ["v", "mirror", "decisions"], file: file)
        guard try document.number("v") == format else {
            throw document.refusal(of: try document.value("v"), "v: write \(format)")
        }
        _ = try document.value("decisions")
        var decisions: [RecordedDecision] = []
        for fields in try document.objects("decisions", keys: Keys.decision) {
            decisions.append(try RecordedDecision(fields))
        }
        return decisions
    }

    private enum Keys {
        static let decision = [
            "target", "now", "options", "wanted", "file", "row", "parts", "sameBytesAt", "orphan",
            "decision",
        ]
        static let wanted = [
            "manifest", "owners", "url", "sources", "method", "size", "digests", "refresh",
            "executable",
        ]
        static let stamp = ["size", "modified", "changed", "inode"]
        static let file = ["kind", "digests", "unreadable"] + stamp
        static let row =
            stamp + [
                "owners", "sha256", "otherDigest", "source", "answeredBy", "etag", "lastModified",
                "strong", "executable", "verified", "promoted", "confirmed", "freshUntil",
            ]
        static let part = [
            "name", "digest", "source", "answeredBy", "strong", "total", "bytes", "extents",
        ]
        static let words = ["step", "reason", "because", "means"]
    }

    private init(_ fields: JSONFields) throws(ManifestRefusal) {
        let target = try fields.target("target")
        var situation = try Situation(
            of: target, try fields.object("wanted", keys: Keys.wanted))
        try situation.read(try fields.object("file", keys: Keys.file))
        if let row = try fields.optionalObject("row", keys: Keys.row) {
            situation.record = try IndexRecord(of: target, row)
        }
        for part in try fields.objects("parts", keys: Keys.part) {
            situation.parts.append(try PartRecord(of: target, part))
        }
        situation.localSource = try fields.optionalTarget("sameBytesAt")
        if let orphan = try fields.optionalObject("orphan", keys: Keys.row + ["target"]) {
            situation.orphan = try IndexRecord(of: try orphan.target("target"), orphan)
        }
        let words = try fields.object("decision", keys: Keys.words)
        let options = try fields.texts(
            "options", Option.allCases.map(\.rawValue).joined(separator: ", ")
        ) { Option(rawValue: $0) }
        self.init(
            situation: situation, options: Set(options), now: try fields.instant("now"),
            words: DecisionWords(
                step: try words.text("step"), reason: try words.text("reason"),
                because: try words.text("because"), means: try words.text("means")))
    }
}

extension Situation {
    fileprivate init(of target: Target, _ fields: JSONFields) throws(ManifestRefusal) {
        let url = try fields.text("url", "an absolute URL") { try? SourceURL($0) }
        var resource = Resource(target: target, url: url)
        resource.size = try fields.optionalSize("size")
        resource.digests = try fields.digests("digests")
        resource.refresh = try fields.text("refresh", "always, never, http or a duration") {
            Refresh($0)
        }
        resource.isExecutable = try fields.flag("executable")
        let method = try fields.optionalText("method", "GET or POST") { text -> RequestMethod? in
            switch text {
            case "GET": .get
            case "POST": .post(body: Template(pieces: []))
            default: nil
            }
        }
        resource.method = method ?? .get
        let owner = try fields.text("manifest")
        self.init(
            resource: resource, owner: owner,
            sources: try fields.texts("sources", "a source") { SourceKey(text: $0) })
        let owners = try fields.texts("owners", "a manifest's name") { $0 }
        if !owners.isEmpty { self.owners = Owners(owners) }
    }

    fileprivate mutating func read(_ fields: JSONFields) throws(ManifestRefusal) {
        enum Found { case absent, file, other(FileKind) }
        let found = try fields.text("kind", "file, absent, or what is in the way") {
            text -> Found? in
            switch text {
            case "absent": .absent
            case "file": .file
            default: FileKind(rawValue: text).map(Found.other)
            }
        }
        switch found {
        case .absent: file = .absent
        case .other(let kind): file = .other(kind)
        case .file: file = .file(try FileStamp(fields), sha256: nil)
        }
        digests = try fields.digests("digests")
        isUnreadable = try fields.flag("unreadable")
    }
}

extension FileStamp {
    fileprivate init(_ fields: JSONFields) throws(ManifestRefusal) {
        let inode = try fields.value("inode")
        guard case .number(let digits) = inode.value, let number = UInt64(digits) else {
            throw fields.refusal(of: inode, "inode: write a whole number of at least 0")
        }
        self.init(
            size: try fields.size("size"), modified: try fields.number("modified"),
            changed: try fields.number("changed"), inode: number)
    }
}

extension IndexRecord {
    fileprivate init(of target: Target, _ fields: JSONFields) throws(ManifestRefusal) {
        let sha256 = try fields.text("sha256", "64 hexadecimal digits") {
            Digest(.sha256, hex: $0)
        }
        self.init(
            target: target, owner: "", stamp: try FileStamp(fields), sha256: sha256,
            verified: try fields.text("verified", "digest, size or none") {
                Verification(rawValue: $0)
            }, promotedAt: try fields.instant("promoted"))
        owners = Owners(try fields.texts("owners", "a manifest's name") { $0 })
        otherDigest = try fields.optionalText("otherDigest", "an algorithm, a colon and digits") {
            Digest(described: $0)
        }
        provenance = try fields.provenance()
        let date = try fields.optionalNumber("lastModified").map(HTTPDate.init(seconds:))
        validators = Validators(
            entityTag: try fields.optionalText("etag", "an entity tag") { EntityTag($0) },
            lastModified: date, strong: try fields.strongValidator())
        isExecutable = try fields.flag("executable")
        confirmedAt = try fields.instant("confirmed")
        freshUntil = try fields.optionalText("freshUntil", "a time") { Instant(rfc3339: $0) }
    }
}

extension PartRecord {
    fileprivate init(of target: Target, _ fields: JSONFields) throws(ManifestRefusal) {
        let provenance = try fields.provenance()
        let nowhere = Provenance(source: SourceKey(text: ""), answeredBy: "")
        let digest = try fields.optionalText("digest", "an algorithm, a colon and digits") {
            Digest(described: $0)
        }
        let identity: PartIdentity
        if let digest {
            identity = .digest(digest)
        } else if let provenance, let strong = try fields.strongValidator() {
            identity = .version(provenance, strong)
        } else {
            identity = .anonymous
        }
        self.init(
            name: try fields.text("name"), target: target, identity: identity,
            total: try fields.optionalSize("total"), provenance: provenance ?? nowhere,
            validators: Validators())
        milestones = PartRecord.milestones(of: try fields.size("bytes"))
        for extent in try fields.objects("extents", keys: ["start", "bytes"]) {
            extents.append(
                Extent(
                    start: try extent.size("start"),
                    milestones: PartRecord.milestones(of: try extent.size("bytes"))))
        }
    }

    /// A milestone at a length; its digest is unknown, and no decision looks at it.
    private static func milestones(of length: Int64) -> [Milestone] {
        let unknown = Digest(.sha256, bytes: Array(repeating: 0, count: 32))
        return length > 0 ? unknown.map { [Milestone(length: length, sha256: $0)] } ?? [] : []
    }
}

extension Digest {
    /// Reads what `description` writes.
    fileprivate init?(described text: String) {
        guard let (name, digits) = text.halves(atLast: ":"),
            let algorithm = DigestAlgorithm(rawValue: String(name))
        else { return nil }
        self.init(algorithm, hex: digits)
    }
}

extension JSONFields {
    fileprivate func text(_ key: String) throws(ManifestRefusal) -> String {
        try text(key, "a text") { $0 }
    }

    fileprivate func target(_ key: String) throws(ManifestRefusal) -> Target {
        try text(key, "a path beneath Documents, Caches or tmp") { try? Target($0) }
    }

    fileprivate func optionalTarget(_ key: String) throws(ManifestRefusal) -> Target? {
        try optionalText(key, "a path beneath Documents, Caches or tmp") { try? Target($0) }
    }

    fileprivate func instant(_ key: String) throws(ManifestRefusal) -> Instant {
        try text(key, "a time such as 2026-11-21T03:56:00.000Z") { Instant(rfc3339: $0) }
    }

    fileprivate func digests(_ key: String) throws(ManifestRefusal) -> [Digest] {
        try texts(key, "an algorithm, a colon and digits") { Digest(described: $0) }
    }

    fileprivate func provenance() throws(ManifestRefusal) -> Provenance? {
        guard let source = try optionalText("source", "a source", SourceKey.init(text:)) else {
            return nil
        }
        return Provenance(source: source, answeredBy: try text("answeredBy"))
    }

    fileprivate func strongValidator() throws(ManifestRefusal) -> StrongValidator? {
        try optionalText("strong", "an entity tag, or seconds since 1970") { text in
            if let seconds = Int64(text) { return .lastModified(HTTPDate(seconds: seconds)) }
            return EntityTag(text).map(StrongValidator.entityTag)
        }
    }
}
