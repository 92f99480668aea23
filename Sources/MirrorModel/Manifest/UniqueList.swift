/// Values in the order in which they came, each key once.
///
/// A long list keeps its keys in a set, so that reading it takes time in proportion to its length.
package struct UniqueList<Key: Hashable & Sendable, Element: Sendable>: Sendable {
    /// The values, in their order.
    package private(set) var elements: [Element] = []
    private var keys: [Key] = []
    /// The same keys; empty while a search through them is faster.
    private var set: Set<Key> = []
    private static var few: Int { 8 }

    package init() {}

    /// Whether a value with this key is there.
    package func contains(_ key: Key) -> Bool {
        keys.count <= Self.few ? keys.contains(key) : set.contains(key)
    }

    /// Adds a value at the end; false, without any change, if its key is there.
    package mutating func append(_ element: Element, key: Key) -> Bool {
        if contains(key) { return false }
        keys.append(key)
        elements.append(element)
        if keys.count > Self.few + 1 {
            set.insert(key)
        } else if keys.count == Self.few + 1 {
            set = Set(keys)
        }
        return true
    }
}

/// Header fields, each name once.
package typealias HeaderList = UniqueList<String, HeaderField>

extension UniqueList<String, HeaderField> {
    /// Adds a field; false, without any change, if there is one of its name.
    package mutating func append(_ field: HeaderField) -> Bool {
        append(field, key: field.key)
    }
}

/// Tags, each once.
package typealias TagList = UniqueList<String, String>
