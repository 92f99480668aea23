/// The keys of the objects that are open, to find one that comes a second time.
///
/// Hashes stand for keys; `Hasher` is seeded anew in every process, so nobody can write two keys
/// that meet in one.
struct KeyLedger {
    private var keys: [Int] = []
    private var starts: [Int] = []
    /// Objects of many keys get a set each, so that a long object takes no square of time.
    private var sets: [Int: Set<Int>] = [:]
    private static let few = 32

    mutating func open() { starts.append(keys.count) }

    mutating func close() {
        guard let start = starts.popLast() else { return }
        sets[starts.count] = nil
        keys.removeLast(keys.count - start)
    }

    /// Enters a key of the innermost object; false when it was there.
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
