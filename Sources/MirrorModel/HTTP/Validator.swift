/// A validator that vouches for every byte, and so may join two halves of a file (RFC 9110 §8.8.1).
public enum StrongValidator: Sendable, Hashable {
    /// A strong entity tag.
    case entityTag(EntityTag)
    /// A modification date that is at least a second older than the answer, where there was no
    /// entity tag at all.
    case lastModified(HTTPDate)
}

/// What a server said of a version, kept with the file and sent back as a condition.
public struct Validators: Sendable, Hashable {
    /// The entity tag, strong or weak; nil when none, or a malformed one, was sent.
    public var entityTag: EntityTag?
    /// The modification date.
    public var lastModified: HTTPDate?
    /// The strong validator among them, as judged when the answer came.
    public var strong: StrongValidator?

    /// Takes what was sent and what it was judged to be worth.
    public init(
        entityTag: EntityTag? = nil, lastModified: HTTPDate? = nil, strong: StrongValidator? = nil
    ) {
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.strong = strong
    }
}

extension Validators {
    /// Judges what an answer says of its version.
    ///
    /// A tag is strong unless it says that it is weak; but where a modification date is sent too,
    /// the answer must be at least a second younger: nginx, for one, makes tags of the date in
    /// seconds and the size, and then two versions of one second share a tag. A date stands alone
    /// only where there was no entity tag at all, not even a malformed one.
    public init(of head: ResponseHead) {
        let tags = head.count(of: .entityTag)
        let tag = tags == 1 ? head.single(.entityTag).flatMap(EntityTag.init) : nil
        let modified = head.date(of: .lastModified)
        let isSettled =
            if let modified, let date = head.date { date.seconds - modified.seconds >= 1 } else {
                false
            }
        var strong: StrongValidator?
        if let tag {
            if !tag.isWeak, isSettled || !head.has(.lastModified) { strong = .entityTag(tag) }
        } else if tags == 0, let modified, isSettled {
            strong = .lastModified(modified)
        }
        self.init(entityTag: tag, lastModified: modified, strong: strong)
    }
}

/// Where a version came from: the source that was asked, and the origin and path that answered.
///
/// A validator is sent to, and believed from, the same provenance only. The answering URL's query is
/// left out because redirects to signed URLs rotate it.
public struct Provenance: Sendable, Hashable {
    /// The source that was asked.
    public var source: SourceKey
    /// Origin and path of the URL that answered, after redirects.
    public var answeredBy: String

    /// Takes the source and what answered.
    public init(source: SourceKey, answeredBy: String) {
        self.source = source
        self.answeredBy = answeredBy
    }
}
