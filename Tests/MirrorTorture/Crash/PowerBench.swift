internal import CTestSupport
internal import MirrorTestSupport
internal import Glibc
internal import Synchronization

/// A tree on a file system whose power can be cut, and the trials that are made there.
final class PowerBench {
    private let system: CutFileSystem
    private let ground: CrashGround
    private var random: SplitMix64
    /// What a story's run comes to when nothing happens to it.
    private var measures: [String: PowerMeasure] = [:]
    /// How often the power was cut amid a run.
    private(set) var cuts = 0
    /// How many reports of `done` were held against the disk.
    private(set) var done = 0

    init(_ system: CutFileSystem, program: String, seed: UInt64) throws {
        self.system = system
        random = SplitMix64(seed: seed)
        try system.folder.makeFolders(above: "root/.")
        ground = try CrashGround(
            program: program, in: Folder.memory, root: system.folder.full("root"), seed: seed)
    }

    func end() { ground.end() }

    /// Tells a story up to a cut, looks at what the disk kept, and lets the next run settle it. One
    /// in four of those is cut too.
    func trial(_ story: CrashStory) throws -> (place: String, wrong: [String]) {
        let measure = try measures[story.name] ?? measured(story)
        measures[story.name] = measure
        try ground.reset()
        let words = try story.begin(ground)
        system.flush()
        var places: [String] = []
        var wrong: [String] = []
        repeat {
            let (place, output) = try interrupted(words, measure)
            places.append(place)
            try system.unmount()
            try system.mount()
            wrong += try flaws(reported: output)
        } while wrong.isEmpty && places.count < 3 && ground.draw(4) == 0
        let again = try ground.run(words)
        if again.ending != .exited(0) {
            wrong.append("the rerun: \(again.ending) \(again.errors.suffix(300))")
        }
        wrong += ground.flawsInTheEnd()
        let verified = try ground.run(["verify"])
        if verified.ending != .exited(0) {
            wrong.append("verify: \(verified.ending) \(verified.output.suffix(300))")
        }
        return (places.joined(separator: ", then "), wrong)
    }

    private func measured(_ story: CrashStory) throws -> PowerMeasure {
        try ground.reset()
        let began = Milliseconds.now
        let result = try ground.run(try story.begin(ground))
        let time = Milliseconds.now - began
        guard result.ending == .exited(0) else {
            throw StoryFailure(
                "\(story.name): \(result.ending) \(result.errors.suffix(200))")
        }
        try ground.reset()
        let command = try ground.trace(try story.begin(ground))
        var measure = PowerMeasure(milliseconds: time)
        while let call = command.next() {
            measure.take(call, command)
            command.pass(call)
        }
        return measure
    }

    /// Runs until the power is cut. The process dies with it, or lives on to report what it can.
    ///
    /// A flush that is under way while ext4 is shut down can report success for what is lost. Where the
    /// power goes, nobody lives to hear that: who dies is held to what was reported before, and who lives
    /// on is in no flush at the cut.
    private func interrupted(
        _ words: [String], _ measure: PowerMeasure
    ) throws -> (place: String, output: String) {
        let moment = PowerMoment.draw(measure) { ground.draw($0) }
        // Where a moment was chosen for what is not on the disk then, nobody else flushes.
        let isDisturbed = !moment.isChosen && ground.draw(2) == 0
        let disturber = Disturber(system.folder, isActive: isDisturbed, seed: random.next())
        defer { disturber.end() }
        let outlives = ground.draw(2) == 0
        if case .time(let time) = moment {
            let command = try ground.start(words)
            Pause.milliseconds(time)
            if outlives { try command.pause() }
            let reported = command.outputSoFar
            try system.cut()
            command.signal(outlives ? SIGCONT : SIGKILL)
            let result = command.wait()
            cuts += result.ending == .exited(0) ? 0 : 1
            return ("at \(time) ms, \(result.ending)", outlives ? result.output : reported)
        }
        let command = try ground.trace(words)
        var place = "not cut"
        var isCut = false
        var reported: String?
        var seen = PowerMeasure(milliseconds: 0)
        while let call = command.next() {
            seen.take(call, command)
            if !isCut, moment.hasCome(seen) {
                isCut = true
                place = "\(moment), \(call)"
                if moment.followsItsCall { command.finish(call) }
                // Then just what came before this call is there, each step between two renames too.
                if !moment.isChosen, ground.draw(4) == 0 {
                    system.flush()
                    place += " after a flush"
                }
                if outlives { try command.settle() } else { reported = command.outputSoFar }
                try system.cut()
                cuts += 1
                if !outlives {
                    command.kill()
                    if moment.followsItsCall { command.pass(call) }
                    continue
                }
            }
            command.pass(call)
        }
        let result = command.end()
        if !isCut { try system.cut() }
        return ("\(place), \(result.ending)", reported ?? result.output)
    }

    /// What is wrong on the disk after the power came back.
    private func flaws(reported output: String) throws -> [String] {
        var wrong = ground.flawsAfterCrash()
        let root = ground.ground.root
        func digest(_ path: String) -> String? { root.read(path).map { Checksum.sha256($0) } }
        let claims = try IndexClaims(of: root)
        let rows = Set(claims.files.map { "\($0.path) \($0.sha256)" })
        for event in output.split(separator: "\n").compactMap({ JSONValue($0) })
        where event["event"] == .string("done") {
            let outcome = event["outcome"]?.word ?? "done"
            guard let path = event["path"]?.word, outcome != "skipped" else { continue }
            done += 1
            // Of a file that was left alone, only that it is there is said.
            let said = event["sha256"]?.word ?? "null"
            let found = digest(path)
            if found == nil || (said != "null" && said != found) {
                wrong.append("\(path) was reported \(outcome), and is not there")
            }
            if said != "null", !rows.contains("\(path) \(said)") {
                wrong.append("\(path) was reported \(outcome), and the index does not say so")
            }
        }
        if let flaw = claims.flaw { wrong.append(flaw) }
        wrong += claims.files.filter { !isBorneOut($0, of: claims) }
            .map { "the index claims \($0.path)" }
        return wrong
    }

    /// Whether the disk holds what a row says, or what an intent says instead, or what somebody
    /// wrote there since. Such a file has left its name, and the new one has not come to it yet, when
    /// the cut falls between the two renames: the intent says so, and the next run puts it there.
    private func isBorneOut(_ claim: IndexClaims.Claim, of claims: IndexClaims) -> Bool {
        let intents = claims.intents.filter { $0.path == claim.path }
        guard let bytes = ground.ground.root.read(claim.path) else {
            return !intents.isEmpty && ground.edited.contains(claim.path)
        }
        let digest = Checksum.sha256(bytes)
        return ground.people.contains(bytes)
            || ([claim] + intents).contains { $0.size == bytes.count && $0.sha256 == digest }
    }
}

/// Makes the file system write at moments that nobody chose: then a rename can reach the disk
/// before the bytes do.
private final class Disturber: Sendable {
    private let state = Mutex((isEnding: false, hasEnded: false))

    init(_ folder: Folder, isActive: Bool, seed: UInt64) {
        guard isActive else {
            state.withLock { $0.hasEnded = true }
            return
        }
        DetachedThread.start { [self] in
            var random = SplitMix64(seed: seed)
            let descriptor = open(folder.full("disturbance"), O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
            while !state.withLock({ $0.isEnding }) {
                _ = pwrite(descriptor, "x", 1, 0)
                if random.next() % 4 == 0 {
                    _ = test_flush_all(descriptor)
                } else {
                    fsync(descriptor)
                }
                usleep(UInt32(random.next() % 15_000))
            }
            close(descriptor)
            state.withLock { $0.hasEnded = true }
        }
    }

    func end() {
        state.withLock { $0.isEnding = true }
        while !state.withLock({ $0.hasEnded }) { usleep(500) }
    }
}
