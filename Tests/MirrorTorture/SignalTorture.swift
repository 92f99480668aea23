internal import Glibc
internal import MirrorTestSupport

/// Ends that come from outside: signals at random instants, readers that go away, limits, outputs
/// that are closed or full. Each ends with the code that is defined for it, and the next run goes on.
enum SignalTorture: TortureClass {
    static let name = "R15"
    static let title = "SIGINT, SIGTERM, SIGPIPE, SIGXFSZ; outputs closed or full"
    static let trials = 200 + crowded + endings
    private static let crowded = 20
    private static let endings = 120

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        func share(_ count: Int) -> Int { max(1, trials * count / Self.trials) }
        var tally = try InterruptedStory.run(
            program: program, trials: share(200), seed: seed, signals: [SIGINT, SIGTERM])
        var outputs = try OutputStory(program: program, seed: seed)
        defer { outputs.end() }
        for trial in 0..<share(endings) {
            let ending = OutputEnding.one(of: trial)
            tally.count("seed \(seed), \(ending)", try outputs.wrong(after: ending))
        }
        tally.notes.append(
            "\(outputs.limited) runs met the file size limit, \(outputs.resumed) parts were resumed after it"
        )
        // A sample need not take minutes.
        guard trials >= Self.trials / 10 else { return tally }
        var many = try ManyFilesStory(program: program, seed: seed)
        defer { many.end() }
        for trial in 0..<share(crowded) {
            tally.count("seed \(seed), many files \(trial)", try many.round(trial))
        }
        tally.notes.append(
            "\(many.interrupted) of \(share(crowded)) signals met thousands of files under way, the slowest end took \(many.slowest) ms"
        )
        return tally
    }
}
