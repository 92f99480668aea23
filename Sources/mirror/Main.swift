import ArgumentParser
import Glibc
import MirrorKit
import MirrorModel

/// Where the process begins: signals first, then the command, and a single place for the exit.
@main
enum Main {
    static func main() {
        _ = CommandTime.began
        StandardStreams.fillGaps()
        // Signals are blocked before any other thread exists, so that all threads inherit the mask.
        Interruption.blockSignals()
        OpenFiles.raiseLimit()
        if let number = OpenFiles.refusal() {
            refuse(
                "no file can be opened: \(String(cString: strerror(number))). "
                    + "End other programs, or raise the limits of this one (ulimit -n), then run again."
            )
        }
        guard let words = Arguments.words() else {
            refuse(
                "The command line cannot be read, because there is no /proc. Mount it, then run again."
            )
        }
        let code: Int32
        do throws(StandbyThread.Refusal) {
            code = try Interruption.supervise { await run(words) }
        } catch { refuse(error.message) }
        // No exit handlers: OpenSSL's would free its tables while a thread that is still ending
        // uses them. The program has written all its own output; fflush writes the buffers of
        // libraries.
        fflush(nil)
        _exit(code)
    }

    /// Ends a process that lacks a resource without which nothing works.
    private static func refuse(_ words: String) -> Never {
        Console.error.line("mirror: error: \(words)")
        exit(74)
    }

    /// Runs the command; a report that could not be written in full is a failure in itself.
    private static func run(_ words: [String]) async -> Int32 {
        let code = await work(words)
        guard code < 128, let number = Console.output.writeError else { return code }
        Console.error.line(
            "mirror: error: standard output cannot be written: \(String(cString: strerror(number)))."
        )
        return 74
    }

    private static func work(_ words: [String]) async -> Int32 {
        let effective: [String]
        do { effective = try SettingsLayer.effective(words) } catch {
            return RunOutput.refuse(words, because: error)
        }
        do {
            var command = try await MirrorCommand.parsed(from: effective)
            guard var work = command as? any AsyncParsableCommand else {
                try command.run()
                return 0
            }
            if let choices = (work as? any ShowsProgress)?.choices {
                try await LiveDisplay.shared.during(choices) { try await work.run() }
            } else {
                try await work.run()
            }
            return 0
        } catch let code as ExitCode {
            return code.rawValue
        } catch
            where error is MirrorError || error is ManifestRefusal || error is CancellationError
        {
            let failure = CommandFailure(error)
            Console.error.line(failure.text)
            return failure.exitCode
        } catch {
            let text = MirrorCommand.fullMessage(for: error)
            let code = MirrorCommand.exitCode(for: error)
            guard code != .success else {
                Console.output.line(text)
                return code.rawValue
            }
            let refusal = UsageRefusal(
                message: MirrorCommand.message(for: error), fullText: text, words: words)
            guard code == .validationFailure else {
                Console.error.line(refusal.text)
                return code.rawValue
            }
            return RunOutput.refuse(effective, refusal.error, text: refusal.text)
        }
    }
}
