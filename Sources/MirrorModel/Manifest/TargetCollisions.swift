/// Paths with positions in a list.
package protocol PathList {
    /// The positions in the order of the paths' bytes.
    var sortedOrder: PathOrder { get }
    /// Lends the bytes of one path, which are valid only during the call.
    func withPath<Result>(
        at position: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result
}

extension ResourceTable: PathList {}

/// A path in a list, or a folder that it leads through.
private struct Occurrence {
    var hash: UInt64
    var position: UInt32
    /// The length in bytes of the prefix of the path that this occurrence means.
    var length: UInt16
    var isFolder: Bool
}

extension PathList {
    /// The position of a target; nil if it is not there. `order` is `sortedOrder`.
    package func position(of target: Target, in order: PathOrder) -> Int? {
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
    /// Each target, and each folder once, becomes a 64-bit hash of its folded path. Only paths whose
    /// hashes occur twice can collide, and only those are compared as text. The search takes targets in
    /// the order of their bytes, in which all paths of a folder are neighbours. So it meets each folder
    /// as new exactly once.
    package func collisions() -> [ManifestRuleError] {
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

    /// Passes each target, and each folder once, to the body; returns the targets that are equal.
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

    /// Compares paths with one hash: those alike to the first are flaws, then it goes on with the rest.
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
        // Where the folders around them differ, the folders have been reported, and this flaw
        // follows from theirs.
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

/// Hashes of paths, and of the folders that they lead through, that are equal whenever the folded paths
/// are.
package struct FoldedHashes {
    /// The folders of the path before, by their lengths, and their hashes before they are finished.
    private var folders: [(length: Int, hasher: Hasher)] = []

    /// The hash of a path.
    package static func hash(ofPath path: UnsafeBufferPointer<UInt8>) -> UInt64 {
        var hashes = FoldedHashes()
        var last: UInt64 = 0
        hashes.advance(to: path, sharing: 0) { last = $1 }
        return last
    }

    /// The hash of a target's path.
    package static func hash(of target: Target) -> UInt64 {
        var path = target.path
        return path.withUTF8 { hash(ofPath: $0) }
    }

    /// Passes the hash of each folder of a path that the path before did not lead through, and then of
    /// the path, with their lengths.
    ///
    /// - Parameter shared: how many bytes at its beginning the path before had too.
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

/// Why two manifests cannot share a target: they declare different bytes for it.
package enum TargetDifference: Sendable, Hashable {
    /// Their digests differ.
    case digests(Digest, Digest)
    /// Their digests are of different algorithms, and nothing says that they are of the same bytes.
    case incomparable(Digest, Digest)
    /// One of them, or both, declare no digest that proves the bytes.
    case unpinned
    /// Only one wants the file to be executable.
    case mode

    /// Compares the declarations of two manifests about one target; nil if both can own it.
    ///
    /// - Parameter record: the index's row of the target. If it has digests of two algorithms, it
    ///   shows whether a declared digest of each is of the same bytes.
    package static func between(
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

    /// A sentence's middle, for people.
    package var because: String {
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

/// A target that two manifests want, each in its own way.
package struct TargetDispute: Sendable, Hashable {
    /// The target.
    package var target: Target
    /// The manifest that was given.
    package var given: Claim
    /// The other one.
    package var other: Claim
    /// The difference between their declarations.
    package var difference: TargetDifference
    /// Whether both manifests are of the run; a takeover would then not say which one is meant.
    package var areBothGiven: Bool

    /// Where a manifest names a target.
    package struct Claim: Sendable, Hashable {
        /// The manifest's name.
        package var name: String
        /// The file, as people know it.
        package var file: String
        /// The line from 1; 0 where there are no lines.
        package var line: Int
        /// The column from 1; 0 where there are none.
        package var column: Int

        /// Takes where a manifest names a target.
        package init(name: String, file: String, line: Int, column: Int) {
            self.name = name
            self.file = file
            self.line = line
            self.column = column
        }

        /// `file:line`.
        package var place: String { line > 0 ? "\(file):\(line)" : file }
    }

    /// Takes the two sides.
    package init(
        target: Target, given: Claim, other: Claim, difference: TargetDifference,
        areBothGiven: Bool
    ) {
        self.target = target
        self.given = given
        self.other = other
        self.difference = difference
        self.areBothGiven = areBothGiven
    }

    /// The error at the given manifest's line.
    package var sentence: String {
        "\(target) of \(given.name) is also the target of \(other.name) (\(other.place)), and "
            + "\(difference.because). Name it in one of them."
    }

    /// The remedy; nil if both manifests are part of the run.
    package var remedy: Remedy? { areBothGiven ? nil : Remedy(.takeOver, given.name) }
}
