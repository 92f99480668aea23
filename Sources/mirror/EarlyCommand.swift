import ArgumentParser
import Synchronization

/// The command that the words of the command line ask for where nothing adds to them, parsed on the main
/// thread while the runtime starts the command's threads and the settings are read.
///
/// Where a run that finds nothing to do takes 17 ms, to parse takes 5 of them, and to start those threads 2.
final class EarlyCommand: Sendable {
    /// A command on its way from one thread to another: the first one keeps nothing of it.
    private struct Parsed: @unchecked Sendable { let command: any ParsableCommand }

    private struct State {
        var result: Result<Parsed, any Error>?
        var waiter: CheckedContinuation<Result<Parsed, any Error>?, Never>?
    }

    private let words: [String]
    private let isEarly: Bool
    private let state = Mutex(State())

    /// Takes the words after the program's name.
    ///
    /// Words are left to the command's own task where the parser may look at files, because nobody knows how
    /// long that takes, and the main thread waits for signals: those that ask for completions, and those
    /// that name a file of passwords.
    init(_ words: [String]) {
        self.words = words
        let isVerb = words.first.map { !$0.hasPrefix("-") } ?? false
        isEarly = isVerb && !words.contains { $0.hasPrefix("--netrc-file") }
    }

    /// Parses the words. The calling thread does it all: the parser waits for nothing.
    func parse() {
        guard isEarly else { return }
        Task.immediate { [self] in
            let result: Result<Parsed, any Error>
            do {
                result = .success(Parsed(command: try await MirrorCommand.parsed(from: words)))
            } catch { result = .failure(error) }
            let waiter = state.withLock { state in
                state.result = result
                return state.waiter.take()
            }
            waiter?.resume(returning: result)
        }
    }

    /// The command that these words ask for. Throws what the parser throws.
    func command(from effective: [String]) async throws -> any ParsableCommand {
        let parsed = await parsed()
        if let parsed, effective == words { return try parsed.get().command }
        return try await MirrorCommand.parsed(from: effective)
    }

    /// Waits until the main thread has parsed, and takes back what the parser noted for errors.
    func forget() async {
        _ = await parsed()
        ColorChoice.ofCommand = .auto
    }

    /// What the main thread has parsed; nil where it does not.
    private func parsed() async -> Result<Parsed, any Error>? {
        guard isEarly else { return nil }
        return await withCheckedContinuation { continuation in
            let result = state.withLock { state in
                if state.result == nil { state.waiter = continuation }
                return state.result
            }
            if let result { continuation.resume(returning: result) }
        }
    }
}
