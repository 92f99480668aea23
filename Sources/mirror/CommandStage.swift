import Synchronization

/// The work that the command is doing. The message about a passed deadline names it.
enum CommandStage: Sendable {
    case beginning, readingManifests, waitingForLock, lookingAtTree, reading, removing, running
    case asking, writing, resting, serving, startingPrograms

    private static let current = Mutex(CommandStage.beginning)

    /// Notes the stage that begins now.
    static func enter(_ stage: CommandStage) { current.withLock { $0 = stage } }

    /// The current stage.
    static var now: CommandStage { current.withLock { $0 } }

    /// The words for this work, as the end of a sentence about the deadline.
    var words: String {
        switch self {
        case .beginning: "before anything was done"
        case .readingManifests: "while the manifests were read"
        case .waitingForLock: "while another run held the lock"
        case .lookingAtTree: "while the tree was looked at"
        case .reading: "while files were read"
        case .removing: "while files were removed"
        case .asking: "while servers were asked"
        case .writing: "while it was written"
        case .startingPrograms: "while programs of the end of the run worked"
        case .serving: "while the tree was served"
        case .running, .resting: "while what had ended was put away"
        }
    }

    /// The work as the progress display names it.
    ///
    /// `nil` means that the command does no work that has progress.
    func progress(afterRun hasEnded: Bool) -> String? {
        switch self {
        case .beginning, .resting, .serving, .startingPrograms: nil
        case .readingManifests: "reading manifests"
        case .waitingForLock: "taking the lock"
        case .lookingAtTree: "looking at the tree"
        case .reading: "reading files"
        case .removing: "removing"
        case .asking: "asking the server"
        case .writing: "writing"
        case .running: hasEnded ? "putting away" : "beginning"
        }
    }
}

// The command, or the current sync of a watch, has a beginning. Its deadline and its seconds count
// from there.

extension MirrorCommand {
    private static let instant = Mutex(ContinuousClock.now)

    /// The instant at which the command began. `main` reads it first, and so sets it.
    static var began: ContinuousClock.Instant { instant.withLock { $0 } }

    /// Sets the beginning to now, for the next sync of a watch.
    static func restartTime() { instant.withLock { $0 = .now } }

    /// Seconds since the command began.
    static var seconds: Double {
        let (seconds, attoseconds) = began.duration(to: .now).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
