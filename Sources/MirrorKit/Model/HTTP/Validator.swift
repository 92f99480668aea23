/// A validator that identifies every byte of a version (RFC 9110 §8.8.1).
///
/// Two halves of a file with the same strong validator may be joined.
package enum StrongValidator: Sendable, Hashable {
    /// A strong entity tag.
    case entityTag(EntityTag)
    /// A modification date that is at least a second older than the response.
    ///
    /// It is strong only if the response had no entity tag at all.
    case lastModified(HTTPDate)
}

/// The validators of a version. mirror keeps them with the file, and sends them as conditions.
package struct Validators: Sendable, Hashable {
    /// The entity tag, strong or weak; nil if none or a malformed one was sent.
    package var entityTag: EntityTag?
    /// The modification date; nil if none or a malformed one was sent.
    package var lastModified: HTTPDate?
    /// Which of the two validators is strong; nil if neither is.
    private var strongest: Kind?

    private enum Kind { case entityTag, lastModified }

    /// Takes the validators of a response, and the one of them that is strong.
    init(
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

    /// The strong validator, as judged when the response came; nil without one.
    package var strong: StrongValidator? {
        switch strongest {
        case .entityTag: entityTag.map(StrongValidator.entityTag)
        case .lastModified: lastModified.map(StrongValidator.lastModified)
        case nil: nil
        }
    }
}

extension Validators {
    /// Whether a condition can be made of one of the validators.
    var isUsableAsCondition: Bool { entityTag != nil || lastModified != nil }

    /// Whether there is no validator.
    var isEmpty: Bool { !isUsableAsCondition }

    /// Whether the validators name the version that a strong validator names.
    func repeats(_ strong: StrongValidator?) -> Bool {
        switch strong {
        case .entityTag(let tag): entityTag == tag
        case .lastModified(let date): entityTag == nil && lastModified == date
        case nil: false
        }
    }

    /// Judges the validators of a response.
    ///
    /// A tag is strong unless it says that it is weak. If the response also has a modification
    /// date, the date must be at least a second before Date. Some servers, such as nginx, make tags
    /// of the date in seconds and the size. Then two versions within one second share a tag. A date
    /// alone is strong only if the response had no entity tag, not even a malformed one.
    init(of head: ResponseHead) {
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

/// The origin of a version: the source that was asked, and the origin and path that responded.
///
/// mirror sends a validator only to the provenance that it came from, and believes it only from
/// there. The query of the responding URL is left out, because redirects to signed URLs rotate it.
struct Provenance: Sendable, Hashable {
    /// The source that was asked.
    var source: SourceKey
    /// The origin and path of the URL that responded, after redirects.
    var answeredBy: String
}

/// An entity tag: an opaque validator, weak or strong (RFC 9110 §8.8.3).
package struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    /// The tag as it was sent, with its quotes and, if it is weak, its `W/`.
    let text: String

    /// Whether the tag is weak, so that it identifies the meaning but not the bytes.
    var isWeak: Bool { text.utf8.starts(with: "W/".utf8) }

    /// Reads one entity tag. Returns nil if it is malformed.
    init?(_ text: String) {
        var text = text
        guard text.withUTF8(EntityTag.isSound) else { return nil }
        self.text = text
    }

    /// Whether the bytes are one well-formed entity tag.
    static func isSound(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
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
    package var description: String { text }

    /// Whether two tags have the same bytes.
    package static func == (left: EntityTag, right: EntityTag) -> Bool {
        PathText.areSame(left.text, right.text)
    }
}

private let quote = UInt8(ascii: "\"")

extension EntityTag {
    /// Whether a strong tag is in the value of If-Match or If-None-Match (RFC 9110 §13.1.1).
    ///
    /// The value is a list of tags, or `*` for any. Malformed pieces of the list are skipped.
    ///
    /// - Parameter isStrong: whether the strong comparison applies, and not the weak one
    ///   (§8.8.3.2).
    static func isListed(_ tag: String, in list: String, isStrong: Bool) -> Bool {
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

/// How exactly the validators of a version identify the version.
package enum ValidatorStrength: String, Sendable, Hashable, CaseIterable {
    /// One of the validators identifies every byte.
    case strong
    /// The validators differ between versions, but bytes of two responses may not be joined.
    case weak
    /// The server sent no validator.
    case none
}

extension Validators {
    /// How exactly the validators identify the version.
    var strength: ValidatorStrength {
        if strong != nil { return .strong }
        return entityTag == nil && lastModified == nil ? .none : .weak
    }
}
