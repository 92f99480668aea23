internal import Glibc
internal import MirrorTestSupport

/// A disk that says that it wrote and did not: no such byte is reported, or gets a final name.
enum LyingDiskTorture: TortureClass {
    static let name = "R5"
    static let title = "a disk that reports writes it did not do, or did wrong"
    static let trials = 600

    static func run(program: String, trials count: Int, seed: UInt64) throws -> Tally {
        let preload: String
        do { preload = try LyingDisk.path() } catch { return Tally(notRun: "\(error)") }
        var tally = Tally()
        let pinned = try FaultStory(program: program, seed: seed, isPinned: true)
        defer { pinned.end() }
        // Nothing but the reading back can tell there.
        let unpinned = try FaultStory(program: program, seed: seed, isPinned: false)
        defer { unpinned.end() }
        var silent = 0
        let trials = Lie.all.flatMap { lie in
            FaultStory.Scene.allCases.flatMap { scene in
                [true, false].map { (lie: lie, scene: scene, isPinned: $0) }
            }
        }
        for (lie, scene, isPinned) in trials.spread(count) {
            let (lies, wrong) = try tell(
                lie, in: isPinned ? pinned : unpinned, scene, preload)
            // A run may make fewer writes than the one that was to be a lie.
            if lies == 0, wrong.isEmpty {
                silent += 1
            } else {
                tally.count(
                    "seed \(seed), \(scene), \(isPinned ? "pinned" : "unpinned"), \(lie)", wrong)
            }
        }
        tally.notes.append("\(silent) more runs made fewer writes than the one to be told a lie")
        return tally
    }

    private static func tell(
        _ lie: Lie, in story: FaultStory, _ scene: FaultStory.Scene, _ preload: String
    ) throws -> (lies: Int, wrong: [String]) {
        try story.prepare(scene)
        let log = story.ground.folder.full("lies")
        unlink(log)
        let result = try story.sync(
            scene,
            adding: [
                "LD_PRELOAD": preload, "LYING_DISK": lie.description, "LYING_DISK_LOG": log,
            ]
        ).wait()
        let lies = story.ground.folder.size("lies") ?? 0
        var wrong = story.wrongFiles(scene) + story.untrue(result)
        switch (result.ending, lie.place) {
        case (.exited(0), .part) where lies > 0: wrong.append("exit 0 after \(lies) lies")
        case (.exited(0), _): wrong += story.unfinished(scene)
        case (.exited(74), _) where lies > 0: break
        default: wrong.append("\(result.ending) after \(lies) lies: \(story.words(result))")
        }
        // Without its index the next run knows no old file as mirror's: it keeps them aside.
        var after = try story.wrongAfterRerun(scene)
        // An index that turns out to be damaged only then ends that run, and is made again by the next.
        if lie.place != .part, after.first?.hasPrefix("the rerun: exit 74") == true {
            after = try story.wrongAfterRerun(scene)
        }
        let left = after.filter {
            lie.place == .part || !($0.hasSuffix(" is left") || $0.hasPrefix("after the rerun ("))
        }
        return (lies, wrong + left)
    }
}

/// Which writes are lies, and how.
private struct Lie: CustomStringConvertible {
    enum How: String, CaseIterable { case drop, half, zero, flip }
    enum Place: String, CaseIterable { case part, index, any }

    let how: How
    let place: Place
    /// From 1; 0 is every write.
    let nth: Int

    var description: String { "\(how.rawValue) \(nth) \(place.rawValue)" }

    static let all: [Lie] = (0..<30).flatMap { nth in
        How.allCases.flatMap { how in
            Place.allCases.compactMap { place in
                // The index's own writes come first and are few.
                place == .part || nth % 2 == 0 || nth < 12
                    ? Lie(how: how, place: place, nth: nth * (place == .any ? 3 : 1)) : nil
            }
        }
    }
}
