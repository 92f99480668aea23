import ArgumentParser
import Glibc
import MirrorKit

/// The options of verbs that can work on the part of a root's targets that one process has.
struct ShardOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only this part of the targets, such as 3/8: several processes share the work of a root.",
            discussion:
                "auto: as this task of a Slurm array, or with --shards this pod of an indexed Job, says.",
            valueName: "i/n|auto"))
    var shard: String?

    @Option(help: ArgumentHelp("With --shard auto: how many parts there are.", valueName: "n"))
    var shards: Int?

    func validate() throws {
        if shards != nil, shard != "auto" {
            throw ValidationError("--shards goes with --shard auto.")
        }
        var configuration = Configuration()
        configuration.shard = try name()
        do { try configuration.validate() } catch {
            throw ValidationError("--shard \(error.message)")
        }
    }

    /// Gives a session its part of the targets.
    func apply(to configuration: inout Configuration) throws { configuration.shard = try name() }

    /// The shard as text. Throws `ValidationError` if `auto` finds no number.
    private func name() throws -> String? {
        guard shard == "auto" else { return shard }
        return try ShardOptions.name(count: shards) { getenv($0).map { String(cString: $0) } }
    }

    /// The shard that the environment of a task gives it.
    ///
    /// Slurm says how many tasks an array has (sbatch(1), SLURM_ARRAY_TASK_COUNT), but an array of
    /// some tasks, such as 3,5, does not say how many shards there are. An indexed Job of Kubernetes
    /// counts from 0, and does not say how many pods it has.
    static func name(count: Int?, variable: (String) -> String?) throws -> String {
        func number(_ name: String) -> Int? { variable(name).flatMap { Int($0) } }
        if let task = number("SLURM_ARRAY_TASK_ID") {
            let first = number("SLURM_ARRAY_TASK_MIN") ?? 1
            guard let tasks = count ?? number("SLURM_ARRAY_TASK_COUNT"), (0...1).contains(first),
                count != nil || number("SLURM_ARRAY_TASK_MAX") == first + tasks - 1
            else {
                throw ValidationError(
                    "--shard auto: this Slurm array does not begin at 0 or 1 or has gaps, so it does not say how many shards there are. Write --shard $SLURM_ARRAY_TASK_ID/N."
                )
            }
            return "\(task - first + 1)/\(tasks)"
        }
        guard let pod = number("JOB_COMPLETION_INDEX") else {
            throw ValidationError(
                "--shard auto: neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set. Write --shard I/N."
            )
        }
        guard let count else {
            throw ValidationError(
                "--shard auto: give the number of the Job's completions as --shards.")
        }
        return "\(pod + 1)/\(count)"
    }
}
