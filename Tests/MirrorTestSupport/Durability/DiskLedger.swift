/// What a run's system calls have left unflushed, and whether each promotion kept the one order that
/// survives a power cut.
///
/// The order, for each target: its bytes and the intent of its promotion are flushed; it gets its name;
/// its folder is flushed; the index's rows are written and flushed; it is reported. The promotions write
/// to the index from the thread that gives the names, so what other threads write to it does not count.
/// Which targets a write to the index is about is not looked at: it has to come at the right time.
struct DiskLedger {
    /// What a flush of a file would write out.
    private enum Debt {
        /// Bytes and size: fdatasync(2) and fsync(2) write them.
        case bytes
        /// Mode and times: only fsync(2) writes them.
        case attributes
    }

    /// How far a target has come.
    private struct Promotion {
        let thread: Int32
        /// The folder that holds the name that it got: its own, or that of its set's folder.
        let folder: String
        /// When the folder was flushed; nil when it was not.
        var folderFlushedAt: Int?
    }

    /// What a thread wrote to the index's log, by the number of the call.
    private struct LogWrites {
        var latest: Int
        /// The latest one that was flushed.
        var flushed: Int?
    }

    private let root: String
    private let log: String
    /// Whether all files are promoted together: then the names in `tmp/` last before the first rename.
    private let isSet: Bool
    /// Links in a folder in `tmp/` that is exchanged as a whole.
    private var built: Set<String> = []
    private var debts: [String: Set<Debt>] = [:]
    /// How many calls there were.
    private var now = 0
    /// When a file was written to last.
    private var writtenAt: [String: Int] = [:]
    /// Paths of names that were made, and whose folders were not flushed since.
    private var passingNames: Set<String> = []
    private var logWrites: [Int32: LogWrites] = [:]
    private var promotions: [String: Promotion] = [:]
    /// What was flushed by itself, or with its file system.
    private var flushed: Set<String> = []
    private(set) var flaws: [String] = []
    /// Targets in the order in which they got their names.
    private(set) var named: [String] = []
    /// Whether the whole file system was flushed at once.
    private(set) var hasGroupFlush = false
    /// The files that were flushed before anything was written to the index's log by their thread.
    private(set) var flushedBeforeRows: Set<String> = []

    init(root: Folder, isSet: Bool = false) {
        self.root = root.path
        self.isSet = isSet
        log = root.full(".mirror/index.sqlite-wal")
    }

    /// A call is about to be made: `file` is what its descriptor is open on, `names` are those that it
    /// makes, links or renames.
    mutating func take(_ call: TracedCommand.Call, names: [String], isThere: (String) -> Bool) {
        let file = call.file ?? ""
        now += 1
        switch call.name {
        case "pwrite64", "pwritev", "pwritev2", "write", "writev", "ftruncate", "copy_file_range",
            "ioctl", "splice", "sendfile":
            owe(.bytes, file)
            if file == log { wroteLog(call.thread) }
        case "fchmod", "utimensat": owe(.attributes, file)
        case "fdatasync": flush(file, [.bytes])
        case "fsync": flush(file, [.bytes, .attributes])
        case "syncfs": flushAll()
        case "mkdirat", "mkdir", "openat", "openat2", "open":
            passingNames.formUnion(names.filter { !isThere($0) })
        case "renameat2", "renameat", "rename", "linkat", "link":
            guard names.count == 2 else { break }
            if names.allSatisfy({ $0.hasSuffix("/") }) {
                exchange(String(names[0].dropLast()), String(names[1].dropLast()), call.thread)
            } else {
                name(names[0], names[1], call.thread)
            }
        default: break
        }
    }

    /// A target was reported, with what became of it.
    mutating func report(_ target: String, _ outcome: String) {
        let path = root + "/" + target
        if outcome == "adopted" {
            // A flush of everything writes out also what another program wrote.
            for path in [path, DiskLedger.folder(of: path)]
            where !flushed.contains(path) && !hasGroupFlush {
                flaws.append("\(target) is reported, and \(shown(path)) was not flushed")
            }
            return
        }
        guard let promotion = promotions[path] else {
            flaws.append("\(target) is reported, and got no name")
            return
        }
        if let flushedAt = promotion.folderFlushedAt {
            let log = logWrites[promotion.thread]
            if log.map({ $0.latest < flushedAt }) ?? true {
                flaws.append("\(target) is reported before the index says so")
            } else if log?.flushed.map({ $0 < flushedAt }) ?? true {
                flaws.append("\(target) is reported before its row lasts")
            }
        } else {
            flaws.append("\(target) is reported before its folder lasts")
        }
        var name = path
        while name != root, !name.isEmpty {
            if passingNames.contains(name) {
                flaws.append("\(target) is reported, and \(shown(name)) has no name that lasts")
            }
            name = DiskLedger.folder(of: name)
        }
        if passingNames.contains(log) {
            flaws.append("\(target) is reported, and the index's log has no name that lasts")
        }
    }

    private mutating func owe(_ debt: Debt, _ path: String) {
        guard path.hasPrefix(root + "/") || path == root else { return }
        debts[path, default: []].insert(debt)
        writtenAt[path] = now
    }

    private mutating func wroteLog(_ thread: Int32) {
        if logWrites.isEmpty { flushedBeforeRows = flushed }
        logWrites[thread, default: LogWrites(latest: now)].latest = now
    }

    private mutating func flush(_ path: String, _ paid: Set<Debt>) {
        debts[path]?.subtract(paid)
        flushed.insert(path)
        if path == log { flushedLog() }
        guard paid.contains(.attributes) else { return }
        passingNames = passingNames.filter { DiskLedger.folder(of: $0) != path }
        for (target, promotion) in promotions where promotion.folder == path {
            folderLasts(of: target)
        }
    }

    private mutating func folderLasts(of target: String) {
        if promotions[target]?.folderFlushedAt == nil { promotions[target]?.folderFlushedAt = now }
    }

    private mutating func flushAll() {
        hasGroupFlush = true
        flushed.formUnion(debts.keys)
        debts = [:]
        passingNames = []
        for target in promotions.keys { folderLasts(of: target) }
        flushedLog()
    }

    private mutating func flushedLog() {
        for (thread, writes) in logWrites { logWrites[thread]?.flushed = writes.latest }
    }

    private mutating func name(_ old: String, _ new: String, _ thread: Int32) {
        let target = shown(new)
        passingNames.insert(new)
        if target.hasPrefix("tmp/"), target.contains(".part/") {
            if let owed = debts[old] { debts[new] = owed }
            writtenAt[new] = writtenAt[old]
            built.insert(new)
            return
        }
        if isSet, passingNames.contains(old), DiskLedger.isFinal(target) {
            flaws.append("\(target) got its name before \(shown(old)) lasted")
        }
        promote(target, at: new, from: old, in: nil, thread)
    }

    /// A folder that was built in `tmp/` takes the place of another.
    private mutating func exchange(_ new: String, _ old: String, _ thread: Int32) {
        for name in passingNames.sorted() where (name + "/").hasPrefix(new + "/") {
            flaws.append("\(shown(old)) was exchanged before \(shown(name)) lasted")
        }
        passingNames.formUnion([old, new])
        for link in built.sorted() where link.hasPrefix(new + "/") {
            let path = old + link.dropFirst(new.count)
            promote(shown(path), at: path, from: link, in: DiskLedger.folder(of: old), thread)
        }
    }

    private mutating func promote(
        _ target: String, at new: String, from old: String, in folder: String?, _ thread: Int32
    ) {
        let owed = debts.removeValue(forKey: old) ?? []
        let written = writtenAt.removeValue(forKey: old) ?? 0
        debts[new] = owed
        writtenAt[new] = written
        guard DiskLedger.isFinal(target) else { return }
        // Where a file cannot be linked by its descriptor, it is linked by its path next.
        if named.last != target { named.append(target) }
        if !owed.isEmpty {
            let words = owed.map { "\($0)" }.sorted().joined(separator: " and ")
            flaws.append("\(target) got its name before its \(words) lasted")
        }
        let log = logWrites[thread]
        if log.map({ $0.latest < written }) ?? true {
            flaws.append("\(target) got its name without an intent")
        } else if log?.flushed.map({ $0 < written }) ?? true {
            flaws.append("\(target) got its name before its intent lasted")
        }
        promotions[new] = Promotion(thread: thread, folder: folder ?? DiskLedger.folder(of: new))
    }

    private func shown(_ path: String) -> String {
        path.hasPrefix(root + "/") ? String(path.dropFirst(root.utf8.count + 1)) : path
    }

    /// Whether a path below the root is a target's, and no name of mirror's own.
    private static func isFinal(_ path: String) -> Bool {
        let isOwn =
            path.hasPrefix(".mirror") || path.contains(".mirror-")
            || path.hasPrefix("tmp/") && path.hasSuffix(".part")
        return !isOwn && !path.hasPrefix("/")
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "" }
        return String(path[..<slash])
    }
}
