internal import MirrorModel

/// Orphans that share their files with wanted targets: removing the one removes the other.
///
/// They exist because a file system folds case or composes accents. An orphan is none of them if
/// its wanted target is a conflict. Its bytes are then an old version that nothing wants.
struct RespelledOrphans {
    /// Those whose files are known as their wanted targets', in order: nothing but their rows is in the way.
    private(set) var settled: [Target] = []
    /// These, and those whose wanted targets are fetched for the first time: the next run settles them.
    private(set) var all: Set<Target> = []

    /// Looks for them among the orphans of a scan. Throws `MirrorError` with `cancelled`.
    init(_ findings: ScanFindings, of view: ScanView) throws {
        guard let root = view.root else { return }
        var names = StatCursor(root)
        var paths = StatCursor(root)
        var candidates: [UInt64: [(target: Target, stamp: FileStamp)]] = [:]
        let orphans = findings.orphans
        for number in 0..<(orphans.count + findings.doubtfulOrphans.count) {
            if number % 4096 == 0 { try view.stopIfCancelled() }
            let (target, stamp) =
                number < orphans.count
                ? (orphans.target(at: number), orphans.stamp(at: number))
                : findings.doubtfulOrphans[number - orphans.count]
            // Of other letters nothing is known without a table.
            let folder = PathText.folder(of: target.path).utf8.count
            guard
                target.path.utf8.contains(where: { $0 >= 0x80 })
                    || RespelledOrphans.finds(target, swappedFrom: folder, stamp, &names)
                    || RespelledOrphans.finds(
                        target, swappedFrom: target.area.rawValue.utf8.count, stamp, &paths)
            else { continue }
            candidates[FoldedHashes.hash(of: target), default: []].append((target, stamp))
        }
        if candidates.isEmpty { return }
        for (number, entry) in view.wanted.entries.enumerated() {
            if number % 4096 == 0 { try view.stopIfCancelled() }
            let hash = view.wanted.withPath(of: entry) { FoldedHashes.hash(ofPath: $0) }
            for orphan in candidates[hash] ?? [] {
                let target = view.wanted.target(of: entry)
                guard CaseFolding.fold(target.path) == CaseFolding.fold(orphan.target.path),
                    case .file(let stamp, _) = try? names.look(at: target), stamp == orphan.stamp,
                    let position = findings.steps.position(of: target)
                else { continue }
                take(orphan.target, beside: findings.steps[position])
            }
        }
        settled.sort()
    }

    private mutating func take(_ orphan: Target, beside step: Step) {
        switch step.existing {
        case .ours, .recorded:
            settled.append(orphan)
            all.insert(orphan)
        case .foreign(_, .some) where step.kind == .conflict: break
        case .nothing, .foreign, .drifted, .obstacle: all.insert(orphan)
        }
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
            case .file(let seen, _) = try? cursor.look(at: other)
        else { return false }
        return seen == stamp
    }
}
