/// The tags of If-Match or If-None-Match (RFC 9110 §13.1.1): a list, or `*` for any.
package struct EntityTagList: Sendable, Hashable {
    private var isAny = false
    private var tags: [EntityTag] = []

    /// Reads a value; what is malformed in it is passed over.
    package init(_ text: String) {
        isAny = text.trimmingSpaces() == "*"
        var rest = Array(text.utf8)[...]
        // A comma may be within a tag's quotes.
        while let quote = rest.firstIndex(of: UInt8(ascii: "\"")),
            let end = rest[(quote + 1)...].firstIndex(of: UInt8(ascii: "\""))
        {
            let isWeak = rest[..<quote].suffix(2).elementsEqual("W/".utf8)
            let tag = String(decoding: rest[quote...end], as: UTF8.self)
            if let tag = EntityTag((isWeak ? "W/" : "") + tag) { tags.append(tag) }
            rest = rest[(end + 1)...]
        }
    }

    /// Whether a strong tag is among them, by the strong or the weak comparison (§8.8.3.2).
    package func contains(_ tag: String, isStrong: Bool) -> Bool {
        isAny
            || tags.contains { $0.text == tag || !isStrong && $0.text == "W/" + tag }
    }
}
