internal import MirrorModel

extension ScanFindings {
    /// Leaves out orphans that share their files with wanted targets: removing the one removes the other.
    ///
    /// They exist because a file system folds case or composes accents. An orphan is none of them if
    /// its wanted target is a conflict. Its bytes are then an old version that nothing wants. The rows of
    /// those whose wanted targets' files are known are forgotten; where a target is fetched for the first
    /// time, the next run settles it. Throws `MirrorError` with `cancelled`.
    mutating func leaveRespelledOrphans(of view: ScanView) throws {
        guard let root = view.root else { return }
        var names = StatCursor(root)
        var paths = StatCursor(root)
        var candidates: [UInt64: [(target: Target, stamp: FileStamp)]] = [:]
        for number in 0..<(orphans.count + doubtfulOrphans.count) {
            if number % 4096 == 0 { try view.stopIfCancelled() }
            let (target, stamp) =
                number < orphans.count
                ? (orphans.target(at: number), orphans.stamp(at: number))
                : doubtfulOrphans[number - orphans.count]
            // Of other letters nothing is known without a table.
            let folder = PathText.folder(of: target.path).utf8.count
            guard
                target.path.utf8.contains(where: { $0 >= 0x80 })
                    || ScanFindings.finds(target, swappedFrom: folder, stamp, &names)
                    || ScanFindings.finds(
                        target, swappedFrom: target.area.rawValue.utf8.count, stamp, &paths)
            else { continue }
            candidates[FoldedHashes.hash(of: target), default: []].append((target, stamp))
        }
        if candidates.isEmpty { return }
        var settled: [Target] = []
        var all: Set<Target> = []
        for (number, entry) in view.wanted.entries.enumerated() {
            if number % 4096 == 0 { try view.stopIfCancelled() }
            let hash = view.wanted.withPath(of: entry) { FoldedHashes.hash(ofPath: $0) }
            for orphan in candidates[hash] ?? [] {
                let target = view.wanted.target(of: entry)
                guard CaseFolding.fold(target.path) == CaseFolding.fold(orphan.target.path),
                    case .file(let stamp) = try? names.look(at: target), stamp == orphan.stamp,
                    let position = steps.position(of: target)
                else { continue }
                switch steps[position].existing {
                case .ours, .recorded:
                    settled.append(orphan.target)
                    all.insert(orphan.target)
                case .foreign(_, .some) where steps[position].kind == .conflict: break
                case .nothing, .foreign, .drifted, .obstacle: all.insert(orphan.target)
                }
            }
        }
        if all.isEmpty { return }
        orphans.removeAll { all.contains($0) }
        unreadOrphans.removeAll { all.contains($0) }
        forgotten += settled.sorted()
        respelled = all
    }

    /// Whether swapping the case of ASCII letters in a path, from `start` on, finds the same file.
    ///
    /// `start` selects the name alone, or its folders too. The check is cheap, and false on most
    /// file systems. Each of the two has its own cursor, so that neighbours find their folder open.
    private static func finds(
        _ target: Target, swappedFrom start: Int, _ stamp: FileStamp, _ cursor: inout StatCursor
    ) -> Bool {
        var path = Array(target.path.utf8)
        for at in start..<path.count
        where (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(path[at] | 0x20) {
            path[at] ^= 0x20
        }
        guard let other = try? Target(String(decoding: path, as: UTF8.self)), other != target,
            case .file(let seen) = try? cursor.look(at: other)
        else { return false }
        return seen == stamp
    }
}
