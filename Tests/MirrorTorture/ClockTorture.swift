internal import Glibc
internal import MirrorTestSupport

/// The same stories under other clocks, languages and time zones: every verdict is the same, but for
/// a certificate that is not valid then.
enum ClockTorture: TortureClass {
    static let name = "R16"
    static let title = "clocks, languages and time zones"
    static let trials = 140

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        if let obstacle = ClockSetting.obstacle { return Tally(notRun: obstacle) }
        var tally = Tally()
        let languages = try Folder.temporary(in: Folder.memory)
        defer { languages.remove() }
        let settings = ClockSetting.all(languages: languages)
        guard let plain = settings.first else { return tally }
        // Every trial of a program that stands still here would wait for its whole time.
        if let flaw = try start(program, plain) {
            tally.count("a start", [flaw])
            return tally
        }
        // A sample plays few stories, each under every clock.
        let stories = ClockStories.all.spread(max(1, trials / settings.count))
        for story in stories {
            let expected = try play(story, program, plain)
            tally.count("\(story.name), \(plain.name)", expected.flaws)
            for setting in settings.dropFirst() {
                let played = try play(story, program, setting)
                tally.count(
                    "\(story.name), \(setting.name)",
                    played.flaws + difference(expected.transcript, played.transcript))
            }
        }
        tally.notes.append("under " + settings.map(\.name).joined(separator: "; "))
        guard trials >= Self.trials, access(Nginx.program, X_OK) == 0 else {
            if trials >= Self.trials { tally.notes.append("without TLS: no nginx") }
            return tally
        }
        let nginx = try Nginx()
        defer { nginx.stop() }
        try nginx.put("a", TestBytes.make(5000, seed: 1))
        for setting in settings {
            tally.count("a certificate, \(setting.name)", try certificate(nginx, program, setting))
        }
        return tally
    }

    /// Why a program does not start under a clock; nil when it does.
    private static func start(_ program: String, _ setting: ClockSetting) throws -> String? {
        let words = setting.words(after: 0) + [program, "--version"]
        let started = try Command(words[0], Array(words.dropFirst()))
        let ending = ClockSetting.wait(for: started, seconds: 20).ending
        return ending == .exited(0) ? nil : "--version: \(ending)"
    }

    private static func play(
        _ story: ClockStories.Story, _ program: String, _ setting: ClockSetting
    ) throws -> (transcript: [String], flaws: [String]) {
        let stage = try ClockStage(program: program, setting: setting)
        defer { stage.end() }
        try story.play(stage)
        return (stage.transcript, stage.flaws)
    }

    private static func difference(_ expected: [String], _ actual: [String]) -> [String] {
        guard expected != actual else { return [] }
        let pairs = zip(expected, actual).first { $0 != $1 }
        return [
            "expected: \(pairs?.0 ?? "\(expected.count) lines"), but: "
                + "\(pairs?.1 ?? "\(actual.count) lines")"
        ]
    }

    /// A certificate that is valid for two days from now: trusted by a true clock, and by no other.
    private static func certificate(
        _ nginx: Nginx, _ program: String, _ setting: ClockSetting
    ) throws -> [String] {
        let ground = try Playground(program: program, in: Folder.memory)
        defer { ground.remove() }
        let path = try ground.write(
            manifest: """
                {"name":"tls","resources":[{"path":"Caches/a","url":"\(nginx.url("https"))/a"}]}
                """)
        let words = ["sync", path, "--json", "--retries", "0", "--cacert", nginx.certificate]
        let started = try ground.start(words, under: setting.words(after: 0))
        let result = ClockSetting.wait(for: started)
        let failure = result.events.first { $0["event"] == .string("failed") }
        if setting.certificatesAreValid {
            return result.ending == .exited(0) ? [] : ["\(result.ending) \(result.errors)"]
        }
        guard result.ending == .exited(1), failure?["code"] == .string("tls-failed"),
            ground.tree().isEmpty
        else { return ["\(result.ending) \(failure?.word ?? "")"] }
        return []
    }
}
