internal import Glibc
internal import MirrorTestSupport

/// A root, an origin and a clock: where a story is played. What it does is written down in words that
/// must not depend on the clock.
final class ClockStage {
    let ground: Playground
    let setting: ClockSetting
    let origin = HeaderedOrigin()
    private let server: OriginServer
    /// What happened, a line an event.
    private(set) var transcript: [String] = []
    /// What is wrong whatever the other settings say.
    private(set) var flaws: [String] = []

    init(program: String, setting: ClockSetting) throws {
        self.setting = setting
        ground = try Playground(program: program, in: Folder.memory)
        server = try OriginServer(responder: origin)
    }

    func end() {
        server.stop()
        ground.remove()
    }

    /// The URL of a path on the origin.
    func url(_ path: String = "") -> String { server.url + "/" + path }

    /// Writes a manifest of resources, each its path and further keys as JSON; gives its path.
    func manifest(_ resources: [(path: String, keys: String)]) throws -> String {
        let list = resources.map { path, keys in
            "{\"path\":\"\(path)\",\"url\":\"\(path)\"\(keys.isEmpty ? "" : "," + keys)}"
        }
        return try ground.write(
            manifest: "{\"name\":\"clock\",\"base\":\"\(server.url)/\",\"resources\":["
                + list.joined(separator: ",") + "]}")
    }

    /// Runs a command so many seconds after the beginning, and writes down what it said and asked.
    @discardableResult
    func run(
        _ words: [String], after seconds: Int = 0, clock: String? = nil
    ) throws -> Command.Result {
        origin.forgetRequests()
        let started = try ground.start(
            words + ["--json"], under: setting.words(after: seconds, clock: clock))
        let result = ClockSetting.wait(for: started, seconds: 60)
        note("\(words[0]) after \(seconds) s: \(result.ending)")
        // Transfers run side by side, so their order says nothing.
        transcript += result.events.flatMap(lines).sorted() + origin.requests.sorted()
        if clock == nil { check(result, after: seconds) }
        if case .exited = result.ending {} else { flaws.append("\(result.errors.suffix(300))") }
        return result
    }

    /// Says that something is wrong.
    func flaw(_ text: String) { flaws.append(text) }

    /// Begins again what is held against other clocks.
    func forgetTranscript() { transcript = [] }

    /// Writes a line down.
    func note(_ line: String) { transcript.append(line) }

    /// Paths, verdicts and counts of an event; not when, how fast, nor where.
    private func lines(_ event: JSONValue) -> [String] {
        if case .array(let steps)? = event["steps"] { return steps.flatMap(lines) }
        if case .array(let files)? = event["files"] { return files.flatMap(lines) }
        if event["event"] == .string("progress") { return [] }
        let words = ClockStage.told.compactMap { key in event[key].map { "\(key)=\($0.word)" } }
        return words.isEmpty ? [] : ["  " + words.joined(separator: " ")]
    }

    private static let told = [
        "event", "path", "step", "outcome", "reason", "code", "state", "fresh", "verified", "exit",
        "fetched", "resumed", "updated", "revalidated", "unchanged", "kept", "edited", "conflicts",
        "stale", "skipped", "failed", "removed", "orphans", "unverified", "adopted", "requests",
        "attempt", "retryable",
    ]

    /// Whether the program had the clock that it was to have: its last event says what time it was.
    private func check(_ result: Command.Result, after seconds: Int) {
        guard case .string(let text)? = result.events.last?["time"] else { return }
        let expected = setting.now(after: seconds)
        guard let time = ClockStage.seconds(text), abs(time - expected) < 120 else {
            flaws.append("it was \(text) by mirror's clock")
            return
        }
    }

    /// Seconds since the epoch of `2026-11-21T14:19:12.463Z` or `20261121T141912Z`.
    static func seconds(_ text: String) -> Int? {
        let digits = text.prefix { $0 != "." }.filter(\.isNumber)
        guard digits.count == 14 else { return nil }
        func number(_ from: Int, _ count: Int) -> Int32 {
            Int32(digits.dropFirst(from).prefix(count)) ?? 0
        }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (
            number(0, 4) - 1900, number(4, 2) - 1, number(6, 2)
        )
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (number(8, 2), number(10, 2), number(12, 2))
        return timegm(&parts)
    }
}
