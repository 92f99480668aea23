/// A target as a key of a dictionary that every file of a run goes through, with its hash.
///
/// A dictionary compares the keys that lie in its way, and hashes them anew when one of them is removed;
/// with the hash at hand neither looks at a path.
package struct TargetKey: Sendable {
    package let target: Target
    private let hash: Int

    package init(_ target: Target) {
        self.target = target
        var path = target.path
        hash = path.withUTF8 { SecretHash.value(UnsafeRawBufferPointer($0)) }
    }
}

extension TargetKey: Hashable {
    /// Whether the targets are the same.
    package static func == (left: TargetKey, right: TargetKey) -> Bool {
        left.hash == right.hash && left.target == right.target
    }

    /// Hashes the hash.
    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// The hash that dictionaries and sets ask for.
    package func _rawHashValue(seed: Int) -> Int { hash }
}
