@testable import MirrorKit

/// Plays a run and its transfers through a story, and says what was not right.
///
/// The run's state machine, the dispatcher and the engine are the real ones, with all that they decide
/// by. The wire, the disk, the workers, the parts and the clock are simulated, so a run of an hour takes a
/// millisecond, and a seed is a bug report.
public struct Simulation {
    /// What a simulation found.
    public struct Finding: Sendable {
        /// What was wrong; empty when all was right.
        public var wrong: [String] = []
        /// What happened, in order, where that was asked for.
        public var story: [String] = []
        /// How long it took, in virtual milliseconds.
        public var milliseconds: Int64 = 0
        /// Resources that came.
        public var received = 0
        /// Resources that could not be had.
        public var failed = 0
        /// Resources that somebody did not want any more.
        public var cancelled = 0
        /// Requests that were made.
        public var requests = 0
    }

    /// No story may take longer, in milliseconds.
    static let longest: Int64 = 4 * 3600 * 1000

    /// Plays the story of a seed.
    public static func play(seed: UInt64, tellsStory: Bool = false) throws -> Finding {
        let stage = try Stage(Story(seed: seed, tellsStory: tellsStory))
        try stage.play()
        return try stage.judge()
    }
}
