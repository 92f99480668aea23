import Testing

@testable import mirror

/// What `--shard auto` takes from the environment of a task.
struct ShardOptionsTests {
    private func name(_ variables: [String: String], of count: Int? = nil) throws -> String {
        try ShardOptions.name(count: count) { variables[$0] }
    }

    private func array(_ task: Int, _ first: Int, _ last: Int, count: Int) -> [String: String] {
        [
            "SLURM_ARRAY_TASK_ID": "\(task)", "SLURM_ARRAY_TASK_MIN": "\(first)",
            "SLURM_ARRAY_TASK_MAX": "\(last)", "SLURM_ARRAY_TASK_COUNT": "\(count)",
        ]
    }

    @Test func aTaskOfAnArrayIsAShard() throws {
        #expect(try name(array(3, 1, 8, count: 8)) == "3/8")
        #expect(try name(array(0, 0, 7, count: 8)) == "1/8")
        #expect(try name(array(7, 0, 7, count: 8)) == "8/8")
    }

    /// `sbatch --array=3,5` runs two tasks of eight again; it says 2, and another layout would begin.
    @Test func anArrayWithGapsSaysNotHowManyShardsThereAre() {
        for variables in [
            array(3, 3, 5, count: 2), array(1, 1, 7, count: 4), array(10, 10, 12, count: 3),
            ["SLURM_ARRAY_TASK_ID": "3"],
        ] {
            #expect(throws: (any Error).self) { try name(variables) }
        }
        #expect(throws: (any Error).self) { try name([:]) }
    }

    @Test func aPodOfAnIndexedJobIsAShard() throws {
        #expect(try name(["JOB_COMPLETION_INDEX": "0"], of: 16) == "1/16")
        #expect(try name(["JOB_COMPLETION_INDEX": "15"], of: 16) == "16/16")
        #expect(throws: (any Error).self) { try name(["JOB_COMPLETION_INDEX": "0"]) }
    }

    @Test func theNumberOfShardsCanBeGiven() throws {
        #expect(try name(array(3, 1, 8, count: 8), of: 8) == "3/8")
    }
}
