import MirrorSimulation
import Testing

/// Stories of seeds, each an hour of bad lines in a moment.
@Suite(.timeLimit(.minutes(15))) struct SimulationTests {
    @Test(arguments: 0..<20) func everySimulatedRunKeepsItsPromises(part: UInt64) throws {
        for seed in part * 100..<(part + 1) * 100 {
            let finding = try Simulation.play(seed: seed)
            #expect(finding.wrong.isEmpty, "seed \(seed): \(finding.wrong)")
        }
    }
}
