/// A large value that is copied often: a copy counts one reference, whatever the value has.
///
/// A change copies the value first if another copy refers to the same object.
struct ValueObject<Value: Sendable>: @unchecked Sendable {
    // `value` changes an object only if no other copy refers to it, so no other thread has the
    // object.
    private var object: Object

    private final class Object {
        var value: Value

        init(_ value: Value) { self.value = value }
    }

    init(_ value: Value) { object = Object(value) }

    var value: Value {
        _read { yield object.value }
        _modify {
            if !isKnownUniquelyReferenced(&object) { object = Object(object.value) }
            yield &object.value
        }
    }
}

extension ValueObject: Equatable where Value: Equatable {
    /// Whether the values are equal.
    static func == (left: ValueObject, right: ValueObject) -> Bool {
        left.object === right.object || left.value == right.value
    }
}

extension ValueObject: Hashable where Value: Hashable {
    /// Hashes the value.
    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
