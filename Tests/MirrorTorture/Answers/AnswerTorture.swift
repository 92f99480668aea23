internal import MirrorTestSupport

/// Hostile and broken servers: every answer to every part, as the contract says.
enum AnswerTorture: TortureClass {
    static let name = "R6"
    static let title = "lying servers, each with every state of a part"
    /// Fewer than all: about a third, spread so that each script meets each state.
    static let trials = 8900
    /// Of how many trials one is of further connections.
    private static let share = 10

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        var tally = Tally()
        let stage = try AnswerStage(program: program, seed: seed)
        defer { stage.end() }
        let all = AnswerScript.all.flatMap { script in
            PartState.allCases.flatMap { state in
                Knowledge.allCases.map {
                    AnswerTrial(script: script, state: state, knowledge: $0)
                }
            }
        }
        let decided = all.filter {
            AnswerOracle(script: $0.script, state: $0.state, knowledge: $0.knowledge).verdict != nil
        }
        for trial in decided.spread(trials - trials / share) {
            tally.count(trial.title, try trial.wrong(on: stage))
        }
        let segments = try SegmentStage(program: program, seed: seed)
        defer { segments.end() }
        for trial in SegmentTrial.all.spread(trials / share) {
            tally.count(trial.title, try trial.wrong(on: segments))
        }
        tally.notes.append(
            "\(AnswerScript.all.count) scripts, \(PartState.allCases.count) states of the tree")
        tally.notes.append(
            "\(SegmentLie.all.count) answers to further connections, which got \(segments.origin.lies)"
        )
        return tally
    }
}
