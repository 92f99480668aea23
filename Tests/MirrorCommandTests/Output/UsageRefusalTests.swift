import ArgumentParser
@testable import MirrorKit
import Testing

@testable import mirror

/// What is said to a command line that cannot be carried out.
@Suite struct UsageRefusalTests {
    private func refusal(_ words: [String]) -> String {
        do {
            _ = try MirrorCommand.parseAsRoot(words)
            return "taken"
        } catch {
            return UsageError(
                message: MirrorCommand.message(for: error),
                fullText: MirrorCommand.fullMessage(for: error), words: words
            ).text
        }
    }

    @Test(
        arguments: [
            (
                ["sync", "--jobs", "0"],
                "--jobs \"0\": write a whole number of at least 1, or auto."
            ),
            (["sync", "-j", "x"], "-j \"x\": write a whole number of at least 1, or auto."),
            (
                ["sync", "--deadline", "ten"],
                "--deadline \"ten\": write a whole number and a unit, such as 90s, 15m, 6h, 1d or 2w."
            ),
            (["sync", "--color", "red"], "--color \"red\": write auto, always or never."),
            (
                ["sync", "--on-conflict", "x"],
                "--on-conflict \"x\": write rename, keep or replace."
            ),
            (
                ["sync", "--window", "01:00"],
                "--window \"01:00\": write local times of day, such as 01:00-06:00 or 22:00-06:00,12:00-13:00."
            ),
            (
                ["sync", "--budget", "10"],
                "--budget \"10\": write an amount and its period, such as 10GiB/month, 2GiB/week or 500MiB/day."
            ),
            (["snyc", "m.json"], "mirror has no verb \"snyc\". mirror sync?"),
            (["sync", "--jbos", "4"], "Unknown option '--jbos'. Did you mean '--jobs'?"),
            (["plan", "--jobs", "4"], "mirror plan has no --jobs; mirror sync has."),
            (
                ["remove", "m.json", "Caches/a", "--jobs", "4"],
                "mirror remove has no --jobs; mirror sync has."
            ),
            (
                ["schedule", "remove", "--jobs", "4"],
                "mirror schedule remove has no --jobs; mirror sync has."
            ),
        ])
    func usageErrorSaysTheRightUsage(words: [String], sentence: String) {
        let lines = refusal(words).split(separator: "\n")
        #expect(lines.first == "mirror: error: \(sentence)")
        let verbs = words[0] == "schedule" ? words.prefix(2) : words.prefix(1)
        let verb = words[0] == "snyc" ? "mirror" : "mirror " + verbs.joined(separator: " ")
        #expect(lines.last == "See \(verb) --help.")
    }

    @Test(
        arguments: [
            (CheckCommand.helpMessage(), ["--jobs", "--offline", "--verbose"]),
            (ConvertCommand.helpMessage(), ["--jobs", "--offline", "--max-transfer", "--json"]),
            (PlanCommand.helpMessage(), ["--jobs", "--env", "--max-size", "--no-progress"]),
            (StatusCommand.helpMessage(), ["--jobs", "--strict", "--verbose"]),
            (PruneCommand.helpMessage(), ["--jobs", "--min-free", "--on-conflict", "--stale-ok"]),
            (VerifyCommand.helpMessage(), ["--max-delete"]),
        ])
    func aVerbListsOnlyWhatItCanUse(help: String, options: [String]) {
        for option in options { #expect(!help.contains("  \(option)"), "\(option)") }
    }

    @Test func everyValueInTheHelpIsExplained() {
        for kind in UsageError.allowed.keys {
            let helps = [SyncCommand.helpMessage(), EvictCommand.helpMessage()]
            #expect(helps.contains { $0.contains("<\(kind)>") }, "\(kind)")
        }
    }
}
