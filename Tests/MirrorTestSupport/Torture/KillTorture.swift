internal import Glibc

/// SIGKILL at random instants: every final name holds one whole version, and the next run heals.
enum KillTorture: TortureClass {
    static let name = "R1"
    static let title = "SIGKILL at random instants (fresh, resume, update, 500 small files)"
    static let trials = 1000

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        try InterruptedStory.run(
            program: program, trials: trials, seed: seed, signals: [SIGKILL])
    }
}
