import MirrorKit

/// What the report on a terminal leaves out during the run and prints at its end.
///
/// The terminal shows the progress, and a line for each of many files would only push it away.
struct TerminalReport {
    /// The most successful files that have a line each.
    static let mostSuccesses = 20

    /// Whether failures wait for the end of the run, where they are grouped by their causes.
    let groupsFailures: Bool
    /// Whether many successful files are counted instead of listed.
    let countsSuccess: Bool
    /// How many resources have failed.
    var failed = 0
    /// How many files without a line of their own were adopted.
    private(set) var adopted = 0
    /// Files without a line of their own: `evicted` were removed, and `leftOut` were not fetched.
    private(set) var (evicted, leftOut) = (FilesOverQuota(), FilesOverQuota())
    /// The reasons for deferral that were printed.
    var deferrals: Set<String> = []
    /// What helps against a lack of room on the disk, if a file met one.
    var roomAdvice: String?
    private var paused = TreeTotals.Group()
    private var failures = FailureCauses()
    /// The causes whose first failure had a line when it happened.
    private var shown: Set<FailureCauses.Cause> = []
    /// Missing files that were not asked for, because the run is offline, and the first of them.
    private var offline: (count: Int, first: Event.Failed?) = (0, nil)
    private var isMuch = false
    private var successes = 0

    init(groupsFailures: Bool, countsSuccess: Bool) {
        (self.groupsFailures, self.countsSuccess) = (groupsFailures, countsSuccess)
    }

    /// Handles an event. Returns true if the event gets no line of its own.
    mutating func absorbs(_ event: Event) -> Bool {
        switch event.body {
        case .plan(let plan): isMuch = plan.changes > Self.mostSuccesses
        case .failed(let failed) where failed.isOffline:
            offline = (offline.count + 1, offline.first ?? failed)
            return true
        case .failed(let failed) where groupsFailures:
            return !shown.insert(failures.add(failed)).inserted
        default: break
        }
        guard countsSuccess, event.isPlainSuccess else { return false }
        successes += 1
        return isMuch || successes > Self.mostSuccesses
    }

    /// Counts a file that the run did not fetch because it is paused.
    mutating func hold(_ target: Target) { paused.add(target, listing: 3) }

    /// Counts a file that has no line of its own.
    mutating func count(_ done: Event.Done) {
        guard case .overQuota(let quota, let size) = done.reason else {
            adopted += 1
            return
        }
        if done.bytesFreed > 0 {
            evicted.add(done.target, size, quota)
        } else {
            leftOut.add(done.target, size, quota)
        }
    }

    /// The failures, the advice and the paused files, at the end of the run.
    func end(_ style: TextStyle) -> [String] {
        var lines = failures.lines(style, besides: shown)
        if let first = offline.first {
            let what =
                offline.count == 1
                ? first.error.sentence
                : "\(offline.count) files are not here, and the run is offline. "
                    + (first.error.remedy?.sentence ?? "")
            lines.append(style.label("failed", .failure) + what.printable)
        }
        return lines
            + [roomAdvice, pauseAdvice].compactMap { $0 }.map { "mirror: note: \($0)" }
    }

    /// The paused files, and the command that ends the pause. `nil` means that there are none.
    private var pauseAdvice: String? {
        guard paused.count > 0 else { return nil }
        return "\(TreeTotals.Attention.paused.heading(paused.count)): \(paused.names)"
    }
}

/// Files for which the quota of Caches has no room.
struct FilesOverQuota: Sendable {
    /// The number of the files, and the first of them.
    private(set) var group = TreeTotals.Group()
    /// The bytes of the files whose sizes are known.
    private(set) var bytes: Int64 = 0
    /// The number of the other files.
    private(set) var unknownSizes = 0
    /// The quota in bytes.
    private(set) var quota: Int64 = 0

    /// Counts a file. `size` is in bytes, where known.
    mutating func add(_ target: Target, _ size: Int64?, _ quota: Int64) {
        group.add(target, listing: 3)
        bytes = bytes.addingSaturated(size ?? 0)
        if size == nil { unknownSizes += 1 }
        self.quota = quota
    }
}

extension TreeTotals.Group {
    /// The targets that are listed, and the number of the others.
    var names: String {
        let names = targets.map(\.path.printable).joined(separator: ", ")
        return more > 0 ? "\(names) and \(more) more" : names
    }
}

extension PlanTotals {
    /// The number of steps that will change the tree, as far as the plan knows.
    fileprivate var changes: Int {
        steps.reduce(0) { sum, step in
            [.keep, .edited, .conflict].contains(step.key) ? sum : sum + step.value
        }
    }
}

extension Event {
    /// Whether a file ended as it should, so that no person needs to act.
    fileprivate var isPlainSuccess: Bool {
        switch body {
        case .removed: true
        case .done(let done):
            ![.conflict, .edited, .stale, .kept, .notModified, .deferred, .noRoom]
                .contains(done.outcome)
                && done.conflict == nil && done.verified != .none
        default: false
        }
    }
}

extension Event.Failed {
    /// Whether a file is not there and was not asked for, because the run is offline.
    fileprivate var isOffline: Bool {
        error.code == .offline && [.fetch, .resume].contains(step) && !isOptional
    }
}

extension Summary {
    /// A line about bytes and files that needed no fetch or request.
    ///
    /// `nil` means that there were none.
    var saved: String? {
        var parts: [String] = []
        if bytesReused > 0 {
            parts.append(
                "\(ByteCount(bytesReused)) \(Counted.verb(bytesReused, "was", "were")) there already"
            )
        }
        let spared = [Outcome.kept, .adopted, .copied, .moved].reduce(0) { $0 + self[$1] }
        if spared > 0 {
            parts.append(
                "\(Counted(spared, "file")) needed no request")
        }
        return parts.isEmpty ? nil : "Saved: " + parts.joined(separator: ", ") + "."
    }
}

extension Summary {
    /// A line with the commands that end the conflicts of the run. `nil` means that there are none.
    var wayOutOfConflicts: String? {
        let count = self[.conflict]
        guard count > 0 else { return nil }
        return
            "\(Counted(count, "conflict")): mirror resolve lists \(Counted.verb(count, "it", "them")), mirror resolve TARGET --keep mine|theirs ends \(Counted.verb(count, "it", "one"))."
    }
}

// Groups the failures of a run by their causes, for the end of its report.

extension FailureCauses {
    /// Adds a failure.
    ///
    /// Returns its cause.
    @discardableResult
    mutating func add(_ failed: Event.Failed) -> Cause {
        add(failed.error, of: failed.target, isOptional: failed.isOptional)
    }

    /// Returns a block of lines for each cause, in the order in which the causes first came.
    ///
    /// - Parameter shown: the causes whose first failure had a line when it happened.
    func lines(_ style: TextStyle, besides shown: Set<Cause> = []) -> [String] {
        groups.flatMap { group -> [String] in
            let isOptional = group.cause.isOptional
            let label = style.label(
                isOptional ? "optional" : "failed", isOptional ? .warning : .failure)
            let indentation = String(repeating: " ", count: 14)
            if group.count == 1 {
                let line = label + group.error.sentence.printable
                return (shown.contains(group.cause) ? [] : [line])
                    + group.help.map { indentation + style.faint($0) }
            }
            var lines = [label + "\(group.count) files: \(group.cause.words)"]
            lines += group.targets.map { indentation + $0.path.printable }
            if group.more > 0 { lines.append(indentation + "and \(group.more) more") }
            return lines + group.allHelp.map { indentation + style.faint($0) }
        }
    }
}

extension FailureCauses.Cause {
    /// The cause in a few words.
    var words: String { host.isEmpty ? what : "\(what) from \(host.printable)" }

    /// The cause in a few words, without the host.
    var what: String {
        status.map { "HTTP \($0)" } ?? code.rawValue.split(separator: "-").joined(separator: " ")
    }
}

extension FailureCauses.Group {
    /// The remedies for a block that names only the cause, without the sentence of an error.
    var allHelp: [String] {
        let remedy = error.remedy?.sentence ?? ""
        return remedy.isEmpty ? help : [remedy]
    }

    /// The command that helps, if the sentence of the error does not name it.
    var help: [String] {
        if error.remedy != nil { return [] }
        if error.isRetryable { return ["mirror sync tries again; what has arrived is kept."] }
        switch error.code {
        case .digestMismatch, .sizeMismatch:
            return [
                "mirror pin --update MANIFEST declares what the source has now, if that is right."
            ]
        case .noSpace: return ["mirror evict --quota SIZE makes room in Caches."]
        default:
            return ["mirror why \(target.path.shellWord) says what was tried."]
        }
    }
}

extension String {
    /// The text as a word of a shell's command: quoted where it has to be.
    var shellWord: String {
        let isPlain = unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || ("0"..."9").contains($0)
                || "/._-+@:,".unicodeScalars.contains($0)
        }
        let inner = split(separator: "'", omittingEmptySubsequences: false)
            .joined(separator: "'\\''")
        return (isPlain && !isEmpty ? self : "'\(inner)'").printable
    }
}
