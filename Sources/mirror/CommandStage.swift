import Synchronization

/// The work that the command is doing, for the sentence that says where its time ran out.
enum CommandStage: Sendable {
    case beginning, readingManifests, waitingForLock, lookingAtTree, reading, removing, running,
        serving

    private static let current = Mutex(CommandStage.beginning)

    /// Notes the stage that begins now.
    static func enter(_ stage: CommandStage) { current.withLock { $0 = stage } }

    /// The current stage.
    static var now: CommandStage { current.withLock { $0 } }

    /// The work that the deadline interrupted, as the end of a sentence.
    var words: String {
        switch self {
        case .beginning: "before anything was done"
        case .readingManifests: "while the manifests were read"
        case .waitingForLock: "while another run held the lock"
        case .lookingAtTree: "while the tree was looked at"
        case .reading: "while files were read"
        case .removing: "while files were removed"
        case .serving: "while the tree was served"
        case .running: "while what had ended was put away"
        }
    }
}
