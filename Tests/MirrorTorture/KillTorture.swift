internal import Glibc
internal import MirrorTestSupport

/// SIGKILL at random instants: every final name holds one whole version, and the next run heals.
enum KillTorture: TortureClass {
    static let name = "R1"
    static let title = "SIGKILL at random instants (resume, update, segments, sets)"
    static let trials = 1050

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        let large = max(1, trials / 10)
        var tally = try InterruptedStory.run(
            program: program, trials: max(1, trials - large), seed: seed, signals: [SIGKILL])
        try RefetchStory.run(program: program, trials: large, seed: seed, into: &tally)
        return tally
    }
}
