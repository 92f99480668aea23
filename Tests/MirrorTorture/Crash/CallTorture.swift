internal import Glibc
internal import MirrorTestSupport
internal import Synchronization

/// SIGKILL in front of, and right after, every system call that changes something.
///
/// A story is first run to its end to count its calls; then it is told again for each of them, and
/// killed there. In front: the kernel skips the call of a thread that has a fatal signal. After: the
/// call was made, and its thread did nothing more. Locks leave nothing behind, so there one suffices.
enum CallTorture: TortureClass {
    static let name = "R2"
    static let title = "SIGKILL before and after every state-changing system call"
    static let trials = 100_000

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        if let reason = reasonNotRun(program) { return Tally(notRun: reason) }
        let hasMounts = SmallFileSystem.isPossible
        let stories = CrashStory.all.filter { hasMounts || !$0.mounts }
        let tally = Mutex(Tally())
        let failure = Mutex<(any Error)?>(nil)
        Workers.run(stories.count, atOnce: 2) { at in
            do {
                let share = max(1, trials / stories.count)
                try CallStory(stories[at], program: program, seed: seed + UInt64(at))
                    .run(share, into: tally)
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
        var result = tally.withLock { $0 }
        if !hasMounts { result.notes.append("without tmp on another file system: no mount here") }
        return result
    }

    private static func reasonNotRun(_ program: String) -> String? {
        do {
            let result = try TracedCommand(program, ["--version"]).end()
            return result.ending == .exited(0) ? nil : "a traced run ends with \(result.ending)"
        } catch {
            return "\(error)"
        }
    }
}

/// One story, killed at each of its calls.
private struct CallStory {
    private struct Point: CustomStringConvertible {
        let number: Int
        let isAfter: Bool
        var description: String { (isAfter ? "after" : "before") + " call \(number)" }
    }

    private let story: CrashStory
    private let ground: CrashGround

    init(_ story: CrashStory, program: String, seed: UInt64) throws {
        self.story = story
        // A flush in common is tried where the file system of /tmp allows one.
        ground = try CrashGround(
            program: program, in: story.isOnDisk ? "/tmp" : Folder.memory, seed: seed)
    }

    func run(_ trials: Int, into tally: borrowing Mutex<Tally>) throws {
        defer { ground.end() }
        let other = try story.mounts ? mountedTmp() : nil
        defer { withExtendedLifetime(other) {} }
        let (calls, _, flaws) = try tell(killedAt: nil)
        tally.withLock { $0.count("\(story.name), not killed", flaws) }
        let points = calls.enumerated().flatMap { at, call in
            [Point(number: at + 1, isAfter: false)]
                + (call.isLock ? [] : [Point(number: at + 1, isAfter: true)])
        }
        var missed = 0
        for point in points.spread(trials) {
            let (calls, ending, flaws) = try tell(killedAt: point)
            if ending == .exited(0), flaws.isEmpty {
                missed += 1
                continue
            }
            let place = calls.last.map { "\($0)" } ?? "the start"
            tally.withLock {
                $0.count("\(story.name), \(point), \(place)", flaws + unexpected(ending))
            }
        }
        let reached = missed > 0 ? " (\(missed) places not reached again)" : ""
        tally.withLock { $0.notes.append("\(story.name) \(calls.count) calls\(reached)") }
    }

    private func unexpected(_ ending: Command.Ending) -> [String] {
        [.signalled(SIGKILL), .exited(0)].contains(ending) ? [] : ["\(ending)"]
    }

    /// Tells the story up to a point, or to its end, and then what follows.
    private func tell(
        killedAt point: Point?
    ) throws -> (calls: [TracedCommand.Call], ending: Command.Ending, flaws: [String]) {
        try ground.reset()
        let words = try story.begin(ground)
        let command = try ground.trace(words)
        var calls: [TracedCommand.Call] = []
        while let call = command.next() {
            // Threads that were on their way to a call when the kill came.
            if let point, calls.count >= point.number {
                command.pass(call)
                continue
            }
            calls.append(call)
            if let point, calls.count == point.number {
                if point.isAfter { command.kill(after: call) } else { command.kill() }
            } else {
                command.pass(call)
            }
        }
        let ending = command.end().ending
        var flaws = ground.flawsAfterCrash()
        if let sets = ground.wholeSets {
            if sets.isExchanged { flaws += sets.flaws(of: ground.ground.tree(), "after the kill") }
            // A run that can fetch nothing carries the journal out, or undoes it.
            _ = try ground.run(words + ["--offline"])
            flaws += sets.flaws(of: ground.ground.tree(), "after a run without a network")
        }
        let again = try ground.run(words)
        if again.ending != .exited(0) {
            let failed = again.events.first { $0["event"] == .string("failed") }
            let words = failed?["message"]?.word ?? again.errors
            flaws.append("the rerun: \(again.ending) \(words.suffix(300))")
        }
        flaws += ground.flawsInTheEnd()
        if story.isWholeInTheEnd {
            let verified = try ground.run(["verify"])
            if verified.ending != .exited(0) {
                flaws.append("verify: \(verified.ending) \(verified.output.suffix(300))")
            }
        }
        return (calls, ending, flaws)
    }

    private func mountedTmp() throws -> SmallFileSystem {
        try ground.ground.root.makeFolders(above: "tmp/.")
        return try SmallFileSystem(bytes: 256 << 20, at: ground.ground.root.full("tmp"))
    }
}
