/// A list of paths, each with its position.
protocol PathList {
    /// The positions in the order of the paths' bytes.
    var sortedOrder: PathOrder { get }
    /// Passes the bytes of one path to the body. They are valid only during the call.
    func withPath<Result>(
        at position: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result
}

extension ResourceTable: PathList {}

/// A path of the list, or a folder of that path.
private struct Occurrence {
    var hash: UInt64
    var position: UInt32
    /// The length in bytes of the path, or of the prefix of the path that is the folder.
    var length: UInt16
    var isFolder: Bool
}

extension PathList {
    /// Returns the position of a target. Returns nil if the list does not have the target.
    ///
    /// `order` must be `sortedOrder`.
    func position(of target: Target, in order: PathOrder) -> Int? {
        var path = target.path
        return path.withUTF8 { path in
            var (low, high) = (0, order.count)
            while low < high {
                let middle = (low + high) / 2
                let sign = withPath(at: order[middle]) { ByteOrder.compare($0, path) }
                if sign == 0 { return order[middle] }
                if sign < 0 { low = middle + 1 } else { high = middle }
            }
            return nil
        }
    }

    /// The flaws of paths that cannot stand beside each other in one tree.
    ///
    /// Each target, and each folder once, becomes a 64-bit hash of its folded path. Only paths
    /// whose hashes occur twice can collide, so the search compares only such paths as text. The
    /// search takes targets in the order of their bytes, in which all paths of a folder are
    /// neighbours. So the search meets each folder as new exactly once.
    func collisions() -> [ManifestRuleError] {
        let order = sortedOrder
        var known = RepeatedHashes(expecting: order.count)
        var found = forEachPath(in: order) { known.insert($0.hash) }
        known.find()
        guard !known.repeated.isEmpty else { return found }
        var entries: [Occurrence] = []
        _ = forEachPath(in: order) { if known.contains($0.hash) { entries.append($0) } }
        entries.sort { ($0.hash, $0.position, $0.length) < ($1.hash, $1.position, $1.length) }
        var start = 0
        while start < entries.count {
            var end = start + 1
            while end < entries.count, entries[end].hash == entries[start].hash { end += 1 }
            if end - start > 1 { found += flaws(among: Array(entries[start..<end])) }
            start = end
        }
        return found
    }

    /// Calls the body for each target and once for each folder.
    /// Returns a flaw for each repeated target.
    private func forEachPath(in order: PathOrder, _ body: (Occurrence) -> Void)
        -> [ManifestRuleError]
    {
        var equal: [ManifestRuleError] = []
        var previous: Int?
        var hashes = FoldedHashes()
        for position in order {
            let shared = previous.map { previous in
                withPath(at: previous) { first in
                    withPath(at: position) { second in
                        let shared = ByteOrder.commonPrefix(first, second)
                        return shared == first.count && shared == second.count ? -1 : shared
                    }
                }
            }
            if shared == -1, let previous {
                equal.append(.equalTargets(first: previous, second: position))
                continue
            }
            withPath(at: position) { path in
                hashes.advance(to: path, sharing: shared ?? 0) { length, hash in
                    body(
                        Occurrence(
                            hash: hash, position: UInt32(position), length: UInt16(length),
                            isFolder: length < path.count))
                }
            }
            previous = position
        }
        return equal
    }

    /// Compares paths that share a hash. Returns a flaw for each path that equals an earlier one.
    ///
    /// Two paths are equal here if their folded texts are. Each round drops the paths that equal
    /// the first.
    private func flaws(among group: [Occurrence]) -> [ManifestRuleError] {
        var found: [ManifestRuleError] = []
        var group = group
        while let first = group.first {
            let firstText = text(first)
            let folded = CaseFolding.fold(firstText)
            var rest: [Occurrence] = []
            for other in group.dropFirst() {
                let otherText = text(other)
                if CaseFolding.fold(otherText) == folded {
                    if let flaw = flaw(first, other, firstText, otherText) { found.append(flaw) }
                } else {
                    rest.append(other)
                }
            }
            group = rest
        }
        return found
    }

    private func flaw(
        _ a: Occurrence, _ b: Occurrence, _ aText: String, _ bText: String
    ) -> ManifestRuleError? {
        let (a, aText, b, bText) =
            a.position <= b.position ? (a, aText, b, bText) : (b, bText, a, aText)
        let (first, second) = (Int(a.position), Int(b.position))
        if a.isFolder != b.isFolder {
            let (file, inside) = a.isFolder ? (second, first) : (first, second)
            return .targetIsFolder(target: file, inside: inside)
        }
        // If the folders of both paths differ, a flaw of the folders has been reported, and this
        // flaw follows from it.
        guard folder(of: aText).elementsEqual(folder(of: bText)) else { return nil }
        return a.isFolder
            ? .foldersAlike(first: first, second: second, firstFolder: aText, secondFolder: bText)
            : .targetsAlike(first: first, second: second)
    }

    private func text(_ entry: Occurrence) -> String {
        withPath(at: Int(entry.position)) {
            String(decoding: $0.prefix(Int(entry.length)), as: UTF8.self)
        }
    }

    private func folder(of path: String) -> Substring.UTF8View {
        path.utf8[..<(path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex)]
    }
}

/// Hashes paths and their folders. Paths that are equal when folded have equal hashes.
struct FoldedHashes {
    /// The folders of the previous path: their lengths in bytes, and their unfinished hashes.
    private var folders: [(length: Int, hasher: Hasher)] = []

    /// The hash of a path.
    static func hash(ofPath path: UnsafeBufferPointer<UInt8>) -> UInt64 {
        var hashes = FoldedHashes()
        var last: UInt64 = 0
        hashes.advance(to: path, sharing: 0) { last = $1 }
        return last
    }

    /// The hash of a target's path.
    static func hash(of target: Target) -> UInt64 {
        var path = target.path
        return path.withUTF8 { hash(ofPath: $0) }
    }

    /// Calls the body for each new folder of a path, and then for the path itself.
    ///
    /// A folder is new if the previous path did not lead through the folder.
    ///
    /// - Parameter shared: how many bytes at the beginning of the path the previous path had too.
    mutating func advance(
        to path: UnsafeBufferPointer<UInt8>, sharing shared: Int,
        _ body: (_ length: Int, _ hash: UInt64) -> Void
    ) {
        while let last = folders.last, last.length >= shared { folders.removeLast() }
        var hasher = folders.last?.hasher ?? Hasher()
        var start = folders.last.map { $0.length + 1 } ?? 0
        while start <= path.count {
            let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.count
            FoldedHashes.add(UnsafeBufferPointer(rebasing: path[start..<end]), to: &hasher)
            body(end, UInt64(bitPattern: Int64(hasher.finalize())))
            if end < path.count { folders.append((end, hasher)) }
            start = end + 1
        }
    }

    private static func add(_ component: UnsafeBufferPointer<UInt8>, to hasher: inout Hasher) {
        var folded: String?
        if component.contains(where: { $0 >= 0x80 }) {
            let text = CaseFolding.fold(String(decoding: component, as: UTF8.self))
            // The hash of a String ignores how its characters are composed, but the hash of its
            // bytes does not. A text whose folding is ASCII (the Kelvin sign's) must hash as that
            // ASCII text does.
            if !text.utf8.allSatisfy({ $0 < 0x80 }) {
                hasher.combine(text)
                return
            }
            folded = text
        }
        if var folded {
            folded.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        } else {
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: component.count) { lower in
                for at in component.indices { lower[at] = component[at].asciiLowercased }
                hasher.combine(bytes: UnsafeRawBufferPointer(lower))
            }
        }
        hasher.combine(UInt8(ascii: "/"))
    }
}

/// Why two manifests cannot share a target.
enum TargetDifference: Sendable, Hashable {
    /// The manifests declare different digests of one algorithm.
    case digests(Digest, Digest)
    /// The manifests declare digests of different algorithms.
    /// No row shows that both are of the same bytes.
    case incomparable(Digest, Digest)
    /// At least one manifest declares no digest that proves the bytes.
    case unpinned
    /// Only one manifest wants the file to be executable.
    case mode

    /// Compares the declarations of two manifests about one target. Returns nil if both can own it.
    ///
    /// - Parameter record: the index's row of the target. If the row has digests of two algorithms,
    ///   it shows whether both declared digests are of the same bytes.
    static func between(
        _ first: Resource, _ second: Resource, record: IndexRecord? = nil
    ) -> TargetDifference? {
        guard let firstPin = first.pin, let secondPin = second.pin else { return .unpinned }
        guard first.isExecutable == second.isExecutable else { return .mode }
        let strong = first.digests.filter(\.algorithm.isStrong)
        var haveCommon = false
        for mine in strong {
            guard let other = second.digests.first(where: { $0.algorithm == mine.algorithm })
            else { continue }
            if other != mine { return .digests(mine, other) }
            haveCommon = true
        }
        if haveCommon { return nil }
        let isOne =
            record.map { record in
                [first, second].allSatisfy { $0.digests.contains(where: record.isProven) }
            } ?? false
        return isOne ? nil : .incomparable(firstPin, secondPin)
    }

    /// The difference in words, as the middle of a sentence.
    var because: String {
        switch self {
        case .digests(let first, let second):
            "one says \(first.brief), the other \(second.brief)"
        case .incomparable(let first, let second):
            "one gives \(first.brief), the other \(second.brief): give both the same algorithm"
        case .unpinned: "both must pin it to the same digest, and at least one does not pin it"
        case .mode: "only one wants it to be executable"
        }
    }
}

/// A target that two manifests want, but cannot share.
struct TargetDispute: Sendable, Hashable {
    /// The target.
    var target: Target
    /// The claim of a manifest of the run.
    var given: Claim
    /// The claim of the other manifest.
    var other: Claim
    /// The difference between the declarations of both manifests.
    var difference: TargetDifference
    /// Whether both manifests belong to the run. A takeover would then not say which one is meant.
    var areBothGiven: Bool

    /// Where a manifest names a target.
    struct Claim: Sendable, Hashable {
        /// The manifest's name.
        var name: String
        /// The manifest's file, as messages name it.
        var file: String
        /// The line that names the target, from 1. 0 means that the manifest has no lines.
        var line: Int
        /// The column in that line, from 1. 0 means that the manifest has no lines.
        var column: Int

        /// The place for messages: `file:line`, or the file alone if the line is 0.
        var place: String { line > 0 ? "\(file):\(line)" : file }
    }

    /// The text of the error, which is reported at the given manifest's line.
    var sentence: String {
        "\(target) of \(given.name) is also the target of \(other.name) (\(other.place)), and "
            + "\(difference.because). Name it in one of them."
    }

    /// The remedy: to take the target over. `nil` if both manifests belong to the run.
    var remedy: Remedy? { areBothGiven ? nil : Remedy(.takeOver, given.name) }
}
