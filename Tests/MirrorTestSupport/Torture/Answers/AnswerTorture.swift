/// Hostile and broken servers: every answer to every part, as the contract says.
enum AnswerTorture: TortureClass {
    static let name = "R6"
    static let title = "server scripts, each to every state of a part and knowledge of the bytes"
    /// Fewer than all: about a third, spread so that each script meets each state.
    static let trials = 8000

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
        for trial in decided.spread(trials) {
            tally.count(trial.title, try trial.wrong(on: stage))
        }
        tally.notes.append(
            "\(AnswerScript.all.count) scripts, \(PartState.allCases.count) states of the tree")
        return tally
    }
}
