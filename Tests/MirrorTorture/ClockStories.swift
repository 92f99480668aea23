internal import Glibc
internal import MirrorTestSupport

/// What mirror is asked to do under every clock: the verdicts must be the same.
enum ClockStories {
    typealias Story = (name: String, play: @Sendable (ClockStage) throws -> Void)

    static let all: [Story] = [
        ("fresh, kept, asked again", freshKeptAsked), ("durations", durations),
        ("lifetimes of servers", lifetimes), ("a server whose clock is right", rightServer),
        ("broken off and resumed", resumed), ("a new version", updated), ("a conflict", conflict),
        ("an orphan", orphan), ("no network", stale), ("Retry-After", retryAfter),
        ("Last-Modified", lastModified), ("the clock went back", clockWentBack),
        ("the clock goes back in mid-run", clockGoesBack), ("eviction", eviction),
    ]

    private static let hour = 3600
    private static let day = 86_400

    private static func bytes(_ number: UInt64) -> [UInt8] { TestBytes.make(20_000, seed: number) }

    /// Puts a file for each resource on the shelf, and gives the manifest's path.
    private static func serve(
        _ stage: ClockStage, _ resources: [(path: String, keys: String)]
    ) throws -> String {
        for (number, resource) in resources.enumerated() {
            stage.origin.shelf.put("/" + resource.path, bytes(UInt64(number)))
        }
        return try stage.manifest(resources)
    }

    private static func freshKeptAsked(_ stage: ClockStage) throws {
        let path = try serve(
            stage,
            [
                ("Caches/always", ""), ("Documents/never", "\"refresh\":\"never\""),
                ("tmp/pinned", "\"sha256\":\"\(Checksum.sha256(bytes(2)))\""),
                ("Caches/TITLE-ışİI.TXT", "\"size\":20000"),
            ])
        for verb in ["check", "plan", "sync", "sync", "status", "verify"] {
            let words = verb == "verify" || verb == "status" ? [verb] : [verb, path]
            try stage.run(words)
        }
        try stage.run(["sync", path, "--refresh"], after: 100 * day)
        try stage.run(["sync"], after: 100 * day + 1)
    }

    private static func durations(_ stage: ClockStage) throws {
        let path = try serve(
            stage,
            ["90s", "15m", "1h", "1d", "2w"].map { ("Caches/\($0)", "\"refresh\":\"\($0)\"") })
        for seconds in [0, 30, 95, 1000, 1800, hour + 10, day + 5, 15 * day, 15 * day + 60] {
            try stage.run(["plan", path], after: seconds)
            try stage.run(["status", path], after: seconds)
            try stage.run(["sync", path], after: seconds)
        }
    }

    /// The server's clock is the client's: lifetimes count from the answer, whatever the year.
    private static func lifetimes(_ stage: ClockStage) throws {
        let path = try serve(stage, [("Caches/a", "\"refresh\":\"http\"")])
        func date(_ seconds: Int) -> String {
            HTTPDateText.fixdate(stage.setting.now(after: seconds))
        }
        let lives: [(Int) -> [String]] = [
            { _ in ["Cache-Control: max-age=3600"] },
            { ["Cache-Control: MAX-AGE=3600", "DATE: \(date($0))"] },
            { ["Expires: \(date($0 + hour))", "Date: \(date($0))"] },
            { ["Cache-Control: max-age=7200", "Age: 3600", "Date: \(date($0))"] },
            { _ in ["Expires: 0"] }, { _ in ["Cache-Control: no-cache"] },
        ]
        for (number, headers) in lives.enumerated() {
            let begin = number * day
            for seconds in [begin, begin + 1800, begin + hour + 60, begin + hour + 120] {
                stage.origin.setHeaders(headers(seconds))
                try stage.run(["sync", path], after: seconds)
            }
        }
    }

    /// The server has the true time, the client another: its lifetime is never longer for that. A clock
    /// that is ahead takes every answer for an old one (RFC 9111 §4.2.3) and asks again.
    private static func rightServer(_ stage: ClockStage) throws {
        let path = try serve(stage, [("Caches/a", "\"refresh\":\"http\"")])
        stage.origin.setHeaders([
            "Cache-Control: max-age=3600", "Date: \(HTTPDateText.fixdate(time(nil)))",
        ])
        try stage.run(["sync", path])
        let again = try stage.run(["sync", path], after: 1800)
        let isAhead = stage.setting.offset > hour
        let expected = isAhead ? "1" : "0"
        if again.summary("requests") != expected {
            stage.flaw("\(again.summary("requests") ?? "no") requests instead of \(expected)")
        }
        stage.forgetTranscript()
        try stage.run(["sync", path], after: hour + 1900)
    }

    private static func resumed(_ stage: ClockStage) throws {
        stage.origin.shelf.put("/Caches/a", TestBytes.make(300_000, seed: 1))
        let path = try stage.manifest([("Caches/a", "")])
        stage.origin.cutNext(after: 150_000)
        try stage.run(["sync", path, "--retries", "0"])
        try stage.run(["sync", path], after: 40 * day)
    }

    private static func updated(_ stage: ClockStage) throws {
        let path = try serve(stage, [("Caches/a", ""), ("Documents/b", "")])
        try stage.run(["sync", path])
        for name in ["Caches/a", "Documents/b"] { stage.origin.shelf.put("/" + name, bytes(77)) }
        try stage.run(["sync", path], after: 5)
    }

    /// The conflict name carries the time in UTC, whatever the zone and the language.
    private static func conflict(_ stage: ClockStage) throws {
        let path = try serve(stage, [("Documents/a.txt", "")])
        try stage.run(["sync", path])
        try stage.ground.root.write("Documents/a.txt", Array("edited".utf8))
        stage.origin.shelf.put("/Documents/a.txt", bytes(78))
        try stage.run(["sync", path], after: 5)
        let names = stage.ground.root.entries(beneath: "Documents").map(\.name)
        let conflicts = names.filter { $0.contains(".mirror-conflict-") }
        stage.note("\(conflicts.count) conflict of \(names.count)")
        let stamp =
            conflicts.first?.split(separator: "mirror-conflict-").last.map(String.init) ?? ""
        let told = ClockStage.seconds(stamp) ?? 0
        if abs(told - stage.setting.now(after: 5)) > 120 { stage.flaw("conflict name \(stamp)") }
    }

    private static func orphan(_ stage: ClockStage) throws {
        let path = try serve(stage, [("Caches/a", ""), ("Caches/b", "")])
        try stage.run(["sync", path])
        let shorter = try stage.manifest([("Caches/a", "")])
        try stage.run(["sync", shorter], after: day)
        try stage.run(["prune", shorter], after: 2 * day)
        try stage.run(["status"], after: 3 * day)
    }

    private static func stale(_ stage: ClockStage) throws {
        let path = try serve(stage, [("Caches/a", ""), ("Caches/b", "\"refresh\":\"1d\"")])
        try stage.run(["sync", path])
        let offline = ["sync", path, "--offline"]
        for seconds in [10, 3 * day, 8 * day] {
            try stage.run(offline, after: seconds)
            try stage.run(offline + ["--stale-ok"], after: seconds)
            try stage.run(offline + ["--stale-ok", "--max-stale", "7d"], after: seconds)
        }
    }

    /// A date is taken against the answer's own Date, so the local clock does not matter.
    private static func retryAfter(_ stage: ClockStage) throws {
        let path = try serve(stage, [("Caches/a", ""), ("Caches/b", "")])
        let now = time(nil)
        for retryAfter in ["1", HTTPDateText.fixdate(now + 1)] {
            stage.origin.refuseNext([
                "Date: \(HTTPDateText.fixdate(now))", "Retry-After: \(retryAfter)",
            ])
            try stage.run(["sync", path, "--jobs", "1"])
        }
    }

    /// A file has its Last-Modified to the second, in whichever form a server writes it.
    private static func lastModified(_ stage: ClockStage) throws {
        let forms = [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ]
        for (number, form) in forms.enumerated() {
            let path = try serve(stage, [("Caches/\(number)", "")])
            stage.origin.setHeaders(["Last-Modified: \(form)"])
            try stage.run(["sync", path])
            try stage.run(["sync", path, "--verify"], after: 60)
            let modified = stage.ground.root.status("Caches/\(number)")?.st_mtim.tv_sec ?? 0
            stage.note("modified \(modified)")
        }
    }

    /// Rows from the future: files of a limited life are asked for, and nothing counts as young.
    private static func clockWentBack(_ stage: ClockStage) throws {
        let path = try serve(
            stage,
            [
                ("Caches/hour", "\"refresh\":\"1h\""), ("Caches/http", "\"refresh\":\"http\""),
                ("Caches/never", "\"refresh\":\"never\""),
            ])
        stage.origin.setHeaders(["Cache-Control: max-age=3600"])
        let years = 40 * 365 * day
        try stage.run(["sync", path], after: years)
        try stage.run(["plan", path])
        let offline = ["sync", path, "--offline", "--stale-ok"]
        let limited = try stage.run(offline + ["--max-stale", "7d"])
        if limited.ending != .exited(69) { stage.flaw("taken for young: \(limited.ending)") }
        try stage.run(offline)
        let asked = try stage.run(["sync", path])
        if asked.summary("requests") != "2" { stage.flaw("not asked for what is from the future") }
        try stage.run(["sync", path], after: 1800)
    }

    /// Two hours, and ten years, while a body arrives.
    private static func clockGoesBack(_ stage: ClockStage) throws {
        // One file only: of two, either could be the one that is confirmed by the other clock.
        let path = try serve(stage, [("Caches/a", "\"refresh\":\"1d\"")])
        let ground = stage.ground
        let clock = ground.folder.full("clock")
        for (from, to) in [(10 * hour, 8 * hour), (20 * 365 * day, 10 * 365 * day)] {
            let (before, after) = (stage.setting.text(after: from), stage.setting.text(after: to))
            try ground.folder.write("clock", Array(before.utf8))
            stage.origin.inNextBody {
                try? ground.folder.write("clock", Array(after.utf8))
                Pause.milliseconds(50)
            }
            try stage.run(["sync", path, "--refetch", "Caches/a"], clock: clock)
            try stage.run(["sync", path], after: to + 60)
        }
        stage.note("whole: \(stage.ground.tree().values.allSatisfy { $0.count == 20_000 })")
    }

    /// The files come an hour after one another, so that there is one order of their use.
    private static func eviction(_ stage: ClockStage) throws {
        let all = (0..<4).map { (path: "Caches/\($0)", keys: "\"refresh\":\"never\"") }
        var path = ""
        for count in 1...all.count {
            path = try serve(stage, Array(all.prefix(count)))
            try stage.run(["sync", path], after: count * hour)
        }
        try stage.run(["evict", "--quota", "45kB", "--max-delete", "100%"], after: day)
        stage.note("\(stage.ground.tree().keys.sorted()) stay")
        try stage.run(["sync", path], after: 2 * day)
    }
}
