internal import CLinux
internal import Glibc

/// What a run did with each resource, one line of JSON each, in `.mirror/runs/<run>.jsonl`.
///
/// The log explains decisions to people. No decision depends on the log, so it is not flushed. A
/// crash may cut off a line. A full disk ends the log and not the run. A run that does nothing
/// makes no log.
struct RunLog: ~Copyable {
    /// The number of runs whose logs are kept.
    static let mostRuns = 30
    /// The length in bytes at which a run's log ends.
    static let longest: Int64 = 64 << 20

    private static let folder = ".mirror/runs"
    /// Bytes that are read at once, and bytes that are collected before a write.
    static let chunk = 64 << 10

    private let root: RootDirectory
    private let name: String
    private var file: Descriptor?
    private var length: Int64 = 0
    private var isOver = false

    /// Prepares a run's log. Its file is created with the first line.
    init(of run: String, in root: RootDirectory) {
        self.root = root
        name = run + ".jsonl"
    }

    /// Removes the logs of all runs but the latest `mostRuns` of each shard.
    mutating func close() {
        guard file != nil else { return }
        let names = (try? RunLog.names(in: root)) ?? []
        guard let folder = try? root.openFolder(RunLog.folder) else { return }
        let most = RunLog.mostRuns * root.shard.count
        for name in names.dropLast(most) { unlinkat(folder.number, name, 0) }
    }

    /// Adds lines, which include their line breaks.
    mutating func add(_ lines: [UInt8]) {
        guard !isOver, !lines.isEmpty else { return }
        do throws(Errno) {
            let file: Descriptor
            if let open = self.file { file = open } else { file = try RunLog.make(name, in: root) }
            self.file = file
            try file.write(lines, at: length, path: name)
            length += Int64(lines.count)
            isOver = length >= RunLog.longest
        } catch {
            isOver = true
        }
    }

    private static func make(_ name: String, in root: RootDirectory) throws(Errno) -> Descriptor {
        let folder = try root.makeFolder(RunLog.folder)
        return Descriptor(
            owning: try retrying("openat", name) {
                let flags = O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC
                // Only the owner of the tree may see paths and sources.
                return linux_openat(folder.number, name, flags, 0o600)
            })
    }

    /// The names of all logs, the earliest run first, because names of runs sort by time.
    private static func names(in root: RootDirectory) throws(Errno) -> [String] {
        let folder = try root.openFolder(RunLog.folder)
        return try folder.names(path: RunLog.folder, containing: ".jsonl").sorted()
    }
}

extension RunLog {
    /// Calls the closure with each whole line of a run's log; returns the number of bytes that were
    /// read.
    ///
    /// A missing log has no lines. A log that cannot be read to its end has fewer.
    @discardableResult
    static func forEachLine(
        of run: String, in root: RootDirectory, _ body: (ArraySlice<UInt8>) -> Void
    ) -> Int64 {
        let path = RunLog.folder + "/" + run + ".jsonl"
        guard let file = try? root.openFile(path) else { return 0 }
        var rest: [UInt8] = []
        var at: Int64 = 0
        while at <= RunLog.longest,
            let bytes = try? file.bytes(at: at, count: RunLog.chunk, path: path), !bytes.isEmpty
        {
            at += Int64(bytes.count)
            rest += bytes
            guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { continue }
            for line in rest[..<end].split(separator: UInt8(ascii: "\n")) { body(line) }
            rest.removeSubrange(...end)
        }
        return at
    }
}

/// Writes a run's decisions and their outcomes into the run's log, from the run's events.
struct DecisionLog: ~Copyable {
    private let plan: Plan?
    private var log: RunLog
    /// The lines that are not yet written.
    private var lines = JSONWriter()
    /// The failed requests that were tried again, of transfers under way.
    private var failures: [Target: [PastDecision.PassingFailure]] = [:]

    /// Begins the log of a run of this plan. `nil` means that the run removes files without a plan.
    init(of run: String, _ plan: Plan?, in root: RootDirectory) {
        self.plan = plan
        log = RunLog(of: run, in: root)
    }

    /// Records an event of the run, which happened after so many milliseconds.
    mutating func note(_ event: Event.Body, at elapsed: Int64) {
        switch event {
        case .retry(let again), .restart(let again):
            failures[again.target, default: []].append(
                PastDecision.PassingFailure(
                    code: again.cause.code, message: again.cause.message, wait: again.wait,
                    began: elapsed, status: again.cause.status))
        case .done(let done): add(event, done.target)
        case .failed(let failed):
            add(event, failed.target, reason: step(of: failed.target)?.reason)
        case .removed(let removed): add(event, removed.target)
        case .plan, .start, .progress, .paused, .resumed, .set, .warning, .summary: break
        }
    }

    /// Records a resource whose step was under way when the run ended.
    mutating func note(interrupted target: Target) {
        guard let step = step(of: target) else { return }
        let passing = failures.removeValue(forKey: target) ?? []
        add(PastDecision(interrupted: step, failures: passing))
    }

    /// Writes the last lines and closes the log.
    mutating func close() {
        write()
        log.close()
    }

    private func step(of target: Target) -> Step? {
        plan.flatMap { plan in plan.steps.position(of: target).map { plan.steps[$0] } }
    }

    private mutating func add(_ event: Event.Body, _ target: Target, reason: Reason? = nil) {
        let failures = failures.isEmpty ? [] : failures.removeValue(forKey: target) ?? []
        guard let decision = PastDecision(event, failures: failures, reason: reason) else { return }
        add(decision)
    }

    private mutating func add(_ decision: PastDecision) {
        lines.object { decision.writeMembers(to: &$0) }
        lines.newline()
        if lines.bytes.count >= RunLog.chunk { write() }
    }

    private mutating func write() {
        log.add(lines.bytes)
        lines.clear()
    }
}
