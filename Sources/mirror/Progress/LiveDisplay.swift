import Glibc
import MirrorKit
import Synchronization

/// The progress of the command, from its first half second to its end.
///
/// On a terminal, lines are rewritten in place. Elsewhere a line is printed every 30 seconds.
final class LiveDisplay: Sendable {
    /// The display of this process.
    static let shared = LiveDisplay()

    /// Seconds in which the display shows nothing, because most commands end sooner.
    private static let patience = 0.5

    private struct State {
        var board = ProgressBoard()
        /// The work that is no transfer, and when it began. `nil` means that there is no such work.
        var stage: (key: String, began: ContinuousClock.Instant)?
        var style = TextStyle()
        var isRateLimited = false
        /// `isOn`: the command shows progress.
        ///
        /// `isResting`: the display draws nothing until `resume`.
        var isOn = false
        var isResting = false
        /// When a run of another process began. `nil` means that the run is this process's own.
        var began: Instant?
    }

    private let state = Mutex(State())
    /// The meter to which the library's calls report their progress.
    let meter = ActivityMeter()
    /// Whether standard error is a terminal on which the cursor can go up a line.
    let isLive: Bool

    init() { isLive = Console.error.isTerminal && Console.canMoveCursor }

    /// Whether lines are shown on a terminal, or will be.
    var isShowing: Bool { isLive && state.withLock { $0.isOn && !$0.isResting } }

    /// Follows a run of another process, which began earlier.
    func follow(since began: Instant) { state.withLock { $0.began = began } }

    /// Notes whether the runs of this command have a rate limit.
    func note(isRateLimited: Bool) { state.withLock { $0.isRateLimited = isRateLimited } }

    /// Handles an event of a run, if progress is shown.
    func apply(_ event: Event) { state.withLock { if $0.isOn { $0.board.apply(event) } } }

    /// Shows progress while a command works.
    func during<Value>(
        _ choices: any OutputChoices, _ body: () async throws -> Value
    ) async throws -> Value {
        guard !choices.json, !choices.quiet, !choices.noProgress else { return try await body() }
        state.withLock {
            $0.isOn = true
            $0.style = TextStyle(
                isColored: choices.usesColor(on: .error), isUnicode: Console.showsUnicode)
        }
        let drawing = Task { await draw() }
        defer {
            drawing.cancel()
            end()
        }
        return try await ActivityMeter.$current.withValue(meter) { try await body() }
    }

    /// Removes the lines of progress before a command prints its final lines.
    func end() {
        state.withLock { state in
            state.isResting = true
            Screen.shared.clear()
        }
    }

    /// Shows lines again, for the next run of a watch.
    func resume() {
        state.withLock { state in
            state.isResting = false
            state.board.reset()
        }
    }

    private func draw() async {
        let pause: Duration = isLive ? .milliseconds(100) : .seconds(30)
        while !Task.isCancelled {
            do { try await Task.sleep(for: pause) } catch { break }
            tick()
        }
    }

    private func tick() {
        let stage = CommandStage.now
        state.withLock { state in
            guard !state.isResting, MirrorCommand.seconds >= Self.patience else { return }
            let words = stage.progress(afterRun: state.board.hasEnded)
            let layout = layout(&state, words)
            guard layout.stage != nil || layout.board.isActive else { return Screen.shared.clear() }
            if isLive {
                let size = Console.error.size
                Screen.shared.draw(
                    layout.lines(columns: size.columns, rows: size.rows, now: .now))
            } else {
                for line in layout.plainLines(now: .now) { Console.error.line(line) }
            }
        }
    }

    private func layout(_ state: inout State, _ stage: String?) -> FrameLayout {
        var layout = FrameLayout()
        (layout.board, layout.style) = (state.board, state.style)
        layout.isRateLimited = state.isRateLimited
        layout.elapsed =
            state.began.map { (Instant.now.milliseconds - $0.milliseconds) / 1000 }
            ?? Int64(MirrorCommand.seconds)
        guard !state.board.isActive, let stage else {
            state.stage = nil
            return layout
        }
        let activity = meter.activity
        let removing = CommandStage.removing.progress(afterRun: false)
        let words =
            switch activity.kind {
            case .removing: removing ?? stage
            case .pushing: "putting files into the store"
            default: stage
            }
        let key = "\(words) \(activity.number)"
        if state.stage?.key != key { state.stage = (key, .now) }
        let began = state.stage?.began ?? .now
        let (seconds, attoseconds) = began.duration(to: .now).components
        layout.stage = StageProgress(
            words: words, activity: activity,
            milliseconds: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
        return layout
    }
}
