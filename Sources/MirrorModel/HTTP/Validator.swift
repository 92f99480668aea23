/// A validator that identifies every byte of a version (RFC 9110 §8.8.1).
///
/// Two halves of a file that carry the same one may be joined.
public enum StrongValidator: Sendable, Hashable {
    /// A strong entity tag.
    case entityTag(EntityTag)
    /// A modification date that is at least a second older than the response.
    ///
    /// It counts only where the response had no entity tag at all.
    case lastModified(HTTPDate)
}

/// The validators of a version as its server sent them, kept with the file and sent as a condition.
public struct Validators: Sendable, Hashable {
    /// The entity tag, strong or weak; nil when none, or a malformed one, was sent.
    public var entityTag: EntityTag?
    /// The modification date.
    public var lastModified: HTTPDate?
    /// Which of them is strong.
    private var strongest: Kind?

    private enum Kind { case entityTag, lastModified }

    /// Takes the fields as sent, and the strong validator that they were judged to give.
    public init(
        entityTag: EntityTag? = nil, lastModified: HTTPDate? = nil, strong: StrongValidator? = nil
    ) {
        self.entityTag = entityTag
        self.lastModified = lastModified
        switch strong {
        case .entityTag(let tag): (self.entityTag, strongest) = (tag, .entityTag)
        case .lastModified(let date): (self.lastModified, strongest) = (date, .lastModified)
        case nil: break
        }
    }

    /// The strong validator among them, as judged when the response came.
    public var strong: StrongValidator? {
        switch strongest {
        case .entityTag: entityTag.map(StrongValidator.entityTag)
        case .lastModified: lastModified.map(StrongValidator.lastModified)
        case nil: nil
        }
    }
}

extension Validators {
    /// Whether there is a validator to send as a condition.
    var isUsableAsCondition: Bool { entityTag != nil || lastModified != nil }

    /// Whether there is no validator.
    var isEmpty: Bool { !isUsableAsCondition }

    /// Whether they name the version of a strong validator, strong as it was judged when it came.
    func repeats(_ strong: StrongValidator?) -> Bool {
        switch strong {
        case .entityTag(let tag): entityTag == tag
        case .lastModified(let date): entityTag == nil && lastModified == date
        case nil: false
        }
    }

    /// Judges the validators of a response.
    ///
    /// A tag is strong unless it says that it is weak. But where the response has a modification
    /// date too, the response must be at least a second younger than that date: nginx, for one,
    /// makes tags of the date in seconds and the size, and then two versions of one second share a
    /// tag. A date counts alone only where the response had no entity tag at all, not even a
    /// malformed one.
    public init(of head: ResponseHead) {
        let hasTag = head.has(.entityTag)
        let tag =
            hasTag && !head.hasSeveral(.entityTag)
            ? head.single(.entityTag).flatMap(EntityTag.init) : nil
        let modified = head.date(of: .lastModified)
        let isSettled =
            if let modified, let date = head.date { date.seconds - modified.seconds >= 1 } else {
                false
            }
        var strong: StrongValidator?
        if let tag {
            if !tag.isWeak, isSettled || !head.has(.lastModified) { strong = .entityTag(tag) }
        } else if !hasTag, let modified, isSettled {
            strong = .lastModified(modified)
        }
        self.init(entityTag: tag, lastModified: modified, strong: strong)
    }
}

/// The origin of a version: the source that was requested, and the origin and path that responded.
///
/// A validator is sent to, and believed from, the same provenance only. The query of the responding
/// URL is left out because redirects to signed URLs rotate it.
public struct Provenance: Sendable, Hashable {
    /// The source that was requested.
    public var source: SourceKey
    /// Origin and path of the URL that responded, after redirects.
    public var answeredBy: String

    /// Takes the source, and the origin and path that responded.
    public init(source: SourceKey, answeredBy: String) {
        self.source = source
        self.answeredBy = answeredBy
    }
}

/// An entity tag: an opaque validator, weak or strong (RFC 9110 §8.8.3).
public struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    /// The tag with its quotes and, where it is weak, its `W/`, byte for byte as it was sent.
    public let text: String

    /// Whether the tag is weak: it then identifies the meaning only, not the bytes.
    public var isWeak: Bool { text.utf8.starts(with: "W/".utf8) }

    /// Reads one entity tag; nil when it is malformed.
    public init?(_ text: String) {
        var text = text
        guard text.withUTF8(EntityTag.isSound) else { return nil }
        self.text = text
    }

    /// Whether bytes are one entity tag.
    package static func isSound(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let start = bytes.first == UInt8(ascii: "W") ? 2 : 0
        let last = bytes.count - 1
        guard last > start, bytes[start] == quote, bytes[last] == quote,
            start == 0 || bytes[1] == UInt8(ascii: "/")
        else { return false }
        for at in (start + 1)..<last {
            let byte = bytes[at]
            guard byte > 0x22 && byte != 0x7F || byte == 0x21 else { return false }
        }
        return true
    }

    /// The tag as it was sent.
    public var description: String { text }

    /// Whether the bytes are the same.
    public static func == (left: EntityTag, right: EntityTag) -> Bool {
        PathText.areSame(left.text, right.text)
    }
}

private let quote = UInt8(ascii: "\"")

extension EntityTag {
    /// Whether a strong tag is in the value of If-Match or If-None-Match (RFC 9110 §13.1.1), which is a
    /// list, or `*` for any; by the strong or the weak comparison (§8.8.3.2).
    ///
    /// What is malformed in the value is passed over.
    package static func isListed(_ tag: String, in list: String, isStrong: Bool) -> Bool {
        if list.trimmingSpaces() == "*" { return true }
        var rest = Array(list.utf8)[...]
        // A comma may be within a tag's quotes.
        while let quote = rest.firstIndex(of: UInt8(ascii: "\"")),
            let end = rest[(quote + 1)...].firstIndex(of: UInt8(ascii: "\""))
        {
            let isWeak = rest[..<quote].suffix(2).elementsEqual("W/".utf8)
            let text = String(decoding: rest[quote...end], as: UTF8.self)
            if EntityTag(text) != nil, text == tag, !isStrong || !isWeak { return true }
            rest = rest[(end + 1)...]
        }
        return false
    }
}
