import ArgumentParser
import Glibc
import MirrorKit

/// The beginning of the process: it prepares signals, runs the command, and has the only exit.
@main
enum Main {
    static func main() {
        _ = MirrorCommand.began
        fillGaps()
        // Signals are blocked before any other thread exists, so that all threads inherit the mask.
        Interruption.blockSignals()
        raiseLimitOfFiles()
        if let number = refusalOfFiles() {
            refuse(
                "no file can be opened: \(String(cString: strerror(number))). "
                    + "End other programs, or raise the limits of this one (ulimit -n), then run again."
            )
        }
        guard let words = CommandLine.words() else {
            refuse(
                "The command line cannot be read, because there is no /proc. Mount it, then run again."
            )
        }
        let code: Int32
        do throws(MirrorError) {
            code = try Interruption.supervise { await run(words) }
        } catch { refuse(error.message) }
        // Exit handlers are skipped, because OpenSSL's would free its tables while an ending thread
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

    /// Runs the command. A report that could not be written in full is a failure too.
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
        do { effective = try EffectiveWords.effective(words) } catch {
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
            where error is MirrorError || error is ManifestError || error is CancellationError
        {
            let failure = CommandError(error)
            Console.error.line(failure.text)
            return failure.exitCode
        } catch {
            let text = MirrorCommand.fullMessage(for: error)
            let code = MirrorCommand.exitCode(for: error)
            guard code != .success else {
                Console.output.line(text)
                return code.rawValue
            }
            let refusal = UsageError(
                message: MirrorCommand.message(for: error), fullText: text, words: words)
            guard code == .validationFailure else {
                Console.error.line(refusal.text)
                return code.rawValue
            }
            return RunOutput.refuse(effective, refusal.error, text: refusal.text)
        }
    }
}

// MARK: What every process needs

extension Main {
    /// Opens a placeholder for each of the descriptors 0, 1 and 2 that is closed.
    ///
    /// A file that is opened later would get the lowest free number. With number 1, the report
    /// would be written into this file. A placeholder can neither be written to nor be read as a
    /// file, so a report to it fails as it should (EBADF). Call this function before any file is
    /// opened.
    private static func fillGaps() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where fcntl(number, F_GETFD) == -1 {
            // The placeholder is not close-on-exec, because a child would have the same gap.
            _ = open("/", O_RDONLY | O_DIRECTORY)
        }
    }

    /// The number of files that the program needs until it can report an error.
    private static let leastFiles = 24

    /// Raises the limit of open files to the highest number that the system allows (setrlimit(2)).
    ///
    /// mirror waits with poll(2), which has no greatest descriptor number. A program that mirror
    /// starts inherits the limit.
    private static func raiseLimitOfFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0,
            limit.rlim_cur < limit.rlim_max
        else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Returns the error number that keeps the program from starting. Returns nil if it can start.
    ///
    /// Swift's runtime ends the process if it cannot open a file of its own. This check keeps this
    /// from happening during a run.
    private static func refusalOfFiles() -> Int32? {
        var files: [Int32] = []
        defer { for file in files { close(file) } }
        while files.count < leastFiles {
            let file = dup(STDIN_FILENO)
            if file < 0 { return errno }
            files.append(file)
        }
        return nil
    }
}

extension CommandLine {
    /// Returns the words after the program's name. Returns nil if they cannot be found.
    ///
    /// Swift finds the words on the stack beside `environ`, and with the help of /proc/self/maps. A
    /// preloaded library that sets a variable moves `environ` away. Swift then finds no words, and
    /// a command without words would print its help and succeed.
    static func words(onStack stack: [String] = CommandLine.arguments) -> [String]? {
        // A program always has its own name as the first word, so an empty list means that Swift
        // found no words.
        guard stack.isEmpty else { return Array(stack.dropFirst()) }
        guard let bytes = kernelsCopy(), !bytes.isEmpty else { return nil }
        let words = bytes.split(separator: 0, omittingEmptySubsequences: false)
        return words.dropFirst().dropLast().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the kernel's copy of the words, with a NUL after each.
    ///
    /// The copy is /proc/self/cmdline (proc(5)). Returns nil if it cannot be opened.
    private static func kernelsCopy() -> [UInt8]? {
        guard let file = fopen("/proc/self/cmdline", "re") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while true {
            let block = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
                count = fread(buffer.baseAddress, 1, buffer.count, file)
            }
            if block.isEmpty { return bytes }
            bytes += block
        }
    }
}
