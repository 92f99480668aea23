internal import Glibc
internal import MirrorTestSupport
internal import Synchronization

/// The power is cut at random moments: what was reported is there, and nothing is torn.
enum PowerTorture: TortureClass {
    static let name = "R3"
    static let title = "power loss on ext4 and xfs (loop image)"
    static let trials = 500

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        let kinds = CutFileSystem.Kind.allCases
        let tally = Mutex(Tally())
        let failure = Mutex<(any Error)?>(nil)
        let reasons = Mutex<[String]>([])
        // A thread each: it keeps its mounts to itself.
        Workers.run(kinds.count, atOnce: kinds.count) { at in
            do {
                try CutFileSystem.keepMountsPrivate()
                if let reason = try PowerControl.reasonNotRun(kinds[at]) {
                    return reasons.withLock { $0.append("\(kinds[at]): \(reason)") }
                }
            } catch {
                return reasons.withLock { $0.append("\(kinds[at]): \(error)") }
            }
            do {
                let story = PowerStory(kinds[at], program: program, seed: seed + UInt64(at))
                try story.run(max(1, trials / kinds.count), into: tally)
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
        var result = tally.withLock { $0 }
        let notRun = reasons.withLock { $0 }.sorted()
        if result.tried == 0 { return Tally(notRun: notRun.joined(separator: "; ")) }
        result.notes = result.notes.sorted() + notRun.map { "not run on \($0)" }
        return result
    }
}

/// Shows that a cut loses what was not flushed and nothing else, or the class would prove nothing.
enum PowerControl {
    static func reasonNotRun(_ kind: CutFileSystem.Kind) throws -> String? {
        let system = try CutFileSystem(kind, options: "")
        let bytes = TestBytes.make(100_000, seed: 1)
        try system.folder.write("flushed", bytes)
        system.flush()
        try system.folder.write("unflushed", bytes)
        try system.cut()
        try system.unmount()
        try system.mount()
        defer { try? system.unmount() }
        if system.folder.read("flushed") != bytes { return "a cut loses what was flushed" }
        return system.folder.read("unflushed") == bytes ? "a cut loses nothing" : nil
    }
}

/// Runs on one file system, each cut at some moment; what is there after the next mount.
private struct PowerStory {
    private let kind: CutFileSystem.Kind
    private let program: String
    private let seed: UInt64

    /// The harsher half: an ext4 that gives no file its blocks before a rename by itself, and may
    /// keep a file's new size without its bytes.
    private static let options: [CutFileSystem.Kind: [String]] = [
        .ext4: ["", "noauto_da_alloc,data=writeback"], .xfs: [""],
    ]

    init(_ kind: CutFileSystem.Kind, program: String, seed: UInt64) {
        self.kind = kind
        self.program = program
        self.seed = seed
    }

    func run(_ trials: Int, into tally: borrowing Mutex<Tally>) throws {
        var random = SplitMix64(seed: seed)
        let variants = PowerStory.options[kind] ?? [""]
        for (at, options) in variants.enumerated() {
            let share = trials * (at + 1) / variants.count - trials * at / variants.count
            let system = try CutFileSystem(kind, options: options)
            let bench = try PowerBench(system, program: program, seed: random.next())
            defer { bench.end() }
            for trial in 0..<share {
                let story = CrashStory.underPower[trial % CrashStory.underPower.count]
                let (place, wrong) = try bench.trial(story)
                tally.withLock {
                    $0.count(
                        "seed \(seed), \(kind) \(options), trial \(trial), \(story.name), \(place)",
                        wrong)
                }
            }
            let (cuts, done) = (bench.cuts, bench.done)
            tally.withLock {
                $0.notes.append(
                    "\(kind)\(options.isEmpty ? "" : " (\(options))"): \(cuts) cuts, "
                        + "\(done) reports of done held against the disk")
            }
        }
    }
}
