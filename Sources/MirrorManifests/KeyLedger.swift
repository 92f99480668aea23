/// The keys of the objects that are open, to find duplicates.
///
/// The ledger keeps hashes of the keys. `Hasher` has a new seed in every process, so no author of a
/// manifest can choose keys that collide.
struct KeyLedger {
    private var keys: [Int] = []
    private var starts: [Int] = []
    /// Each object with many keys gets a set, so that a long object takes no quadratic time.
    private var sets: [Int: Set<Int>] = [:]
    private static let few = 32

    mutating func open() { starts.append(keys.count) }

    mutating func close() {
        guard let start = starts.popLast() else { return }
        sets[starts.count] = nil
        keys.removeLast(keys.count - start)
    }

    /// Enters a key of the innermost object; false if the object has the key already.
    mutating func enter(_ key: [UInt8]) -> Bool {
        var hasher = Hasher()
        key.withUnsafeBytes { hasher.combine(bytes: $0) }
        let hash = hasher.finalize()
        let depth = starts.count - 1
        guard let start = starts.last else { return true }
        if sets[depth]?.insert(hash).inserted ?? !keys[start...].contains(hash) {
            if sets[depth] == nil {
                keys.append(hash)
                if keys.count - start > Self.few { sets[depth] = Set(keys[start...]) }
            }
            return true
        }
        return false
    }
}
