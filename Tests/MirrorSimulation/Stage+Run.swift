@testable import MirrorKit

/// What is right about the run after a simulation.
extension Stage {
    func judgeRun() {
        guard run.machine.isOver, let summary = run.summary else {
            return note("the run is not over")
        }
        judgeNumbers(summary)
        judgeEnds()
        judgeClaims()
        judgeEnd(summary)
        if story.isAtomic { judgeSet(summary) }
        if !run.submittedWhilePaused.isEmpty {
            note("\(run.submittedWhilePaused) began while all was paused")
        }
        if !run.submittedWhileDenied.isEmpty {
            note("\(run.submittedWhileDenied) began while only what is urgent was permitted")
        }
        for (target, count) in disk.promotions where count > 1 {
            note("\(target) promoted \(count) times")
        }
    }

    /// Every resource is counted once.
    private func judgeNumbers(_ summary: Summary) {
        let sum = summary.outcomes.values.reduce(0, +)
        if sum != summary.resources {
            note("\(sum) outcomes of \(summary.resources) resources: \(summary.outcomes)")
        }
        let wanted = story.roles.count { story.wish(of: $0.role) != nil }
        if summary.resources != wanted { note("\(summary.resources) resources of \(wanted)") }
        let removals = story.roles.count { $0.role == .remove }
        if summary.removed + summary.orphans != removals {
            note("\(summary.removed) removed, \(summary.orphans) left of \(removals)")
        }
        let needed = observer.told.values.reduce(0) { sum, told in
            if case .ended(let result)? = told.last { return sum + result.requests }
            return sum
        }
        let isWhole = !run.machine.isEnding
        if isWhole ? summary.requests != needed : summary.requests > needed {
            note("\(summary.requests) requests are counted of \(needed)")
        }
    }

    /// All that is wanted was promoted, or nothing, and the run says which.
    private func judgeSet(_ summary: Summary) {
        if !run.promotedAlone.isEmpty { note("\(run.promotedAlone) promoted without their set") }
        if disk.promotedSets > 1 { note("the set promoted \(disk.promotedSets) times") }
        let held = [Outcome.failed, .stale, .deferred, .skipped, .interrupted, .evicted]
        let missing = held.filter { summary[$0] > 0 }
        // What ends a run does not end a promotion under way.
        if disk.promotedSets == 1, !missing.isEmpty, !run.machine.isEnding {
            note("the set promoted without \(missing)")
        }
        if disk.promotedSets == 0, summary.setsLeft == 0, !missing.isEmpty, !run.machine.isEnding {
            note("\(missing), and the set is not told to be left")
        }
        if disk.promotedSets == 1, summary.setsLeft > 0 { note("the set promoted and was left") }
    }

    /// What is told adds up to what is counted, and every file is one version of what was wanted.
    private func judgeEnds() {
        var ended: [Target: Int] = [:]
        var granted: Set<String> = []
        for event in run.told {
            switch event {
            case .done(let done):
                ended[done.target, default: 0] += 1
                granted.insert(done.target.path)
                judge(done)
            case .failed(let failed):
                let isOrphan = failed.step == .remove
                if !isOrphan { ended[failed.target, default: 0] += 1 }
            default: break
            }
        }
        for (target, count) in ended where count > 1 { note("\(target) ended \(count) times") }
        for (target, role) in story.roles where !granted.contains(target) {
            guard let wish = story.wish(of: role), story.mustBeGranted(wish),
                run.summary?.setsLeft == 0
            else { continue }
            note("\(target) is not there, and nothing is in the way")
        }
        guard let summary = run.summary else { return }
        let silent = summary[.skipped] + summary[.interrupted] + summary[.kept]
        if ended.count + silent != summary.resources {
            note("\(ended.count) told and \(silent) counted of \(summary.resources)")
        }
        if !run.machine.isEnding, silent > 0, summary.setsLeft == 0 {
            note("\(summary.outcomes), and nothing ended the run")
        }
    }

    private func judge(_ done: Event.Done) {
        guard done.outcome != .adopted,
            let role = story.roles.first(where: { $0.target == done.target.path })?.role,
            let wish = story.wish(of: role)
        else { return }
        if done.outcome == .deferred { return judgeDeferred(done.target, wish) }
        let resource = story.world.resources[story.wishes[wish].resource]
        guard let bytes = disk.files[done.target] else {
            if done.outcome == .stale {
                let isOurs = if case .file = story.wishes[wish].past { true } else { false }
                if !isOurs || story.mustBeGranted(wish) { note("\(done.target) is stale") }
            } else if !isKnown(story.wishes[wish].past, of: resource) {
                note("\(done.target) is \(done.outcome) and not there")
            }
            return
        }
        let versions = story.wishes[wish].isPinned ? 0...0 : resource.versions
        if !versions.contains(where: { resource.bytes(of: $0) == bytes }) {
            note("\(done.target) has \(bytes.count) bytes of no version")
        }
    }

    private func judgeDeferred(_ target: Target, _ wish: Int) {
        let isDenied = story.acts.contains { if case .deny = $0.act { true } else { false } }
        if !isDenied { note("\(target) is deferred, and nothing was denied") }
        if Story.isUrgent(wish), !story.isAtomic { note("\(target) is urgent and deferred") }
        if disk.files[target] != nil { note("\(target) is deferred and was written") }
    }

    /// What was taken is let go.
    private func judgeClaims() {
        for (position, count) in run.claims where run.releases[position] != count {
            note("step \(position) was taken \(count) times, let go \(run.releases[position] ?? 0)")
        }
        for position in run.releases.keys where run.claims[position] == nil {
            note("step \(position) was let go and not taken")
        }
    }

    /// A run that is to end, ends in time.
    private func judgeEnd(_ summary: Summary) {
        let patience = 2 * story.hop + 2
        if let endedAt, run.overAt > endedAt + 400 + patience {
            note("the run was over at \(run.overAt) ms, interrupted at \(endedAt)")
        }
        if let deadline = story.rules.deadline, run.overAt > deadline * 1000 + 1000 + patience {
            note("the run was over at \(run.overAt) ms, its deadline was \(deadline) s")
        }
        if story.isUndisturbed, summary.error != nil {
            note("the run ended early: \(summary.exit)")
        }
    }
}

extension TransferResult {
    fileprivate var requests: Int {
        cost.requests
    }
}
