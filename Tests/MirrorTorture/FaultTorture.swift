internal import Glibc
internal import MirrorTestSupport

/// Failing system calls: a named error or a full recovery, no wrong file, and a rerun that heals.
///
/// `FAULT='change, pread64 EIO' scripts/torture --trials 9 R4` makes only trials whose words hold that.
enum FaultTorture: TortureClass {
    static let name = "R4"
    static let title = "system calls that fail, once or for ever"
    static let trials = 840

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        if let reason = FaultyRun.reasonNotPossible { return Tally(notRun: reason) }
        var tally = Tally()
        let story = try FaultStory(program: program, seed: seed, isPinned: false)
        defer { story.end() }
        let course = try Course(story)
        var spared = 0
        var trapped = 0
        var pairs: Set<String> = []
        let wanted = getenv("FAULT").map { String(cString: $0) } ?? ""
        let all = course.trials.filter { wanted.isEmpty || $0.description.contains(wanted) }
        for trial in all.spread(trials) {
            guard let (hits, wrong) = try fail(trial, in: story) else {
                trapped += 1
                continue
            }
            if hits == 0, wrong.isEmpty {
                spared += 1
            } else {
                pairs.insert(trial.fault.description)
                tally.count("seed \(seed), \(trial)", wrong)
            }
        }
        tally.notes.append("\(pairs.count) pairs of call and error")
        tally.notes.append("\(spared) more runs did not make the call that was to fail")
        tally.notes.append("\(trapped) more ended in a runtime, at a call of its own")
        return tally
    }

    private static func fail(
        _ trial: FaultTrial, in story: FaultStory
    ) throws -> (hits: Int, wrong: [String])? {
        try story.prepare(trial.scene)
        let run = try FaultyRun(
            story, trial.scene, trace: [trial.fault.call],
            fault: trial.fault.injection(when: trial.when))
        if case .signalled = run.result.ending, run.hitsRuntime {
            let wrong = story.wrongFiles(trial.scene) + (try story.wrongAfterRerun(trial.scene))
            return wrong.isEmpty ? nil : (run.hits, wrong)
        }
        // Beyond a symbolic link is no file of ours: whoever sees one lets go of an orphan for good.
        let movedFrom = "Caches/moved-from is left"
        let forgotten =
            trial.fault.error == "ELOOP" ? FaultStory.orphansLeft + [movedFrom] : []
        var wrong = story.wrongFiles(trial.scene) + story.untrue(run.result)
        if case .exited(let code) = run.result.ending {
            // Where a move became a fetch, its source stays until the next run prunes it; and so does an
            // orphan that could not be read, which is counted.
            var spared = [movedFrom] + forgotten
            if run.result.summary("orphans") == "1" { spared += FaultStory.orphansLeft }
            if code == 0 {
                wrong += story.unfinished(trial.scene).filter { !spared.contains($0) }
            }
            if !trial.fault.exits.contains(code) {
                wrong.append("exit \(code): \(story.words(run.result))")
            }
        }
        wrong += try story.wrongAfterRerun(trial.scene, sparing: forgotten)
        if !wrong.isEmpty {
            wrong.insert("\(run.result.ending) \(story.words(run.result))", at: 0)
            // Each thread counts its own calls.
            wrong += run.calls.filter { $0.hasSuffix("(INJECTED)") }.suffix(8)
        }
        return (run.hits, wrong)
    }

    /// What is to be tried, from how often the program makes each call.
    private struct Course {
        var trials: [FaultTrial] = []

        init(_ story: FaultStory) throws {
            let calls = Set(Fault.all.map(\.call)).sorted()
            for scene in FaultStory.Scene.allCases {
                try story.prepare(scene)
                let run = try FaultyRun(story, scene, trace: calls)
                guard run.result.ending == .exited(0) else {
                    throw SystemFailure(
                        "strace", "\(run.result.ending) \(run.result.errors)", errno: 0)
                }
                for fault in Fault.all {
                    let most = run.most(of: fault.call)
                    for when in fault.moments(of: most) {
                        trials.append(FaultTrial(scene: scene, fault: fault, when: when))
                    }
                }
            }
        }
    }
}

/// One run with one fault.
struct FaultTrial: CustomStringConvertible {
    let scene: FaultStory.Scene
    let fault: Fault
    /// As strace counts: `1`, `5`, `1+`.
    let when: String

    var description: String { "\(scene), \(fault) when=\(when)" }
}
