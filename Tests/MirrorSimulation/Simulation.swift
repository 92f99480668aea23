@testable import MirrorKit
@testable import MirrorModel

/// Runs the engine of transfers through a story, and says what was not right.
///
/// The engine is the real one, with all that it decides by; its wire, its workers, its parts and its clock are
/// simulated, so a run of an hour takes a millisecond, and a seed is a bug report.
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
