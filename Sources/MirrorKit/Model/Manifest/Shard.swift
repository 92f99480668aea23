/// The part of all targets that one of several processes has, when they share the work of a root.
///
/// A target's shard follows from a hash of its path, so processes need not talk to each other.
struct Shard: Sendable, Hashable {
    /// From 1 to `count`.
    let number: Int
    let count: Int

    /// All targets: the work is not shared.
    static let whole = Shard(number: 1, count: 1)
    /// The greatest number of processes that share the work.
    static let most = 1 << 16

    private init(number: Int, count: Int) { (self.number, self.count) = (number, count) }

    /// Reads `3/8`. Throws `MirrorError` with `usage` for another text, and for numbers out of range.
    init(_ text: String) throws(MirrorError) {
        guard let shard = Shard(text.parts(at: "/", keepingEmpty: true)) else {
            throw MirrorError(
                .usage,
                "\(Quoted(text)): write a shard as its number and how many there are, such as 3/8; at most \(Shard.most)."
            )
        }
        self = shard
    }

    /// Reads `3-of-8`, the name of a shard's folder. Returns nil for another name.
    init?(folderName: String) {
        let words = folderName.parts(at: "-", keepingEmpty: true)
        guard words.count == 3, words[1] == "of", let shard = Shard([words[0], words[2]]) else {
            return nil
        }
        self = shard
    }

    /// Reads two numbers of decimal digits without leading zeros.
    private init?(_ words: [Substring]) {
        let numbers = words.compactMap { Int($0) }
        guard numbers.count == 2, zip(numbers, words).allSatisfy({ "\($0)" == $1 }),
            (1...Shard.most).contains(numbers[1]), (1...numbers[1]).contains(numbers[0])
        else { return nil }
        self.init(number: numbers[0], count: numbers[1])
    }

    /// `3/8`, which `init(_:)` reads.
    var text: String { "\(number)/\(count)" }

    /// The text of a shard that has not all targets, for summaries. `nil` for `whole`.
    var name: String? { isWhole ? nil : text }

    /// Whether the shard has all targets.
    var isWhole: Bool { count == 1 }

    /// The folder of the shard's index and lock, below the root.
    var folder: String { isWhole ? ".mirror" : "\(Shard.folders)/\(number)-of-\(count)" }

    /// The folder of the shards' folders.
    static let folders = ".mirror/shards"

    /// What the keys in the names of the shard's parts begin with: 8 hexadecimal digits, or nothing.
    var tag: String {
        if isWhole { return "" }
        let digits = String(UInt32(truncatingIfNeeded: Shard.hash(folder.utf8)), radix: 16)
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }

    /// Names the shard in a sentence, as in `another run of shard 3/8 holds the lock`.
    var remark: String { isWhole ? "" : "of shard \(text) " }

    /// Whether the shard has a target, given the bytes of its path.
    ///
    /// - Parameter isNamedByServer: whether a server chose the name. The first shard has all such
    ///   targets, because two servers may choose one name.
    func has(_ path: some Sequence<UInt8>, isNamedByServer: Bool = false) -> Bool {
        if isWhole { return true }
        if isNamedByServer { return number == 1 }
        return Int(Shard.hash(path) % UInt64(count)) + 1 == number
    }

    /// FNV-1a of 64 bits, mixed once more (the finalizer of MurmurHash3), since only the low bits
    /// count. Rows on disks depend on it, so it never changes.
    private static func hash(_ path: some Sequence<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in path { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        hash = (hash ^ hash >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return hash ^ hash >> 33
    }

    /// The shard's part of a number that all processes may use up together, at least 1.
    /// 0, which may stand for no limit, stays 0.
    func share(of number: Int64) -> Int64 {
        number > 0 ? max(1, number / Int64(count)) : number
    }
}

extension Configuration {
    /// The configuration of one of the processes: each gets its share of the rate and the bytes.
    func share(of shard: Shard) -> Configuration {
        var configuration = self
        configuration.maxTransfer = maxTransfer.map { shard.share(of: $0) }
        configuration.limitRate = limitRate?.share(of: shard)
        return configuration
    }
}
