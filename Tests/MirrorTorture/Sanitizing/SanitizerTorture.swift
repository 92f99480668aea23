internal import Glibc
internal import MirrorTestSupport

/// The whole test run under ThreadSanitizer and under AddressSanitizer; each test is a trial.
///
/// Tests and library run in processes with the sanitizer, and so does the `mirror` that the tests
/// start. C libraries are as Debian ships them: what happens inside of them is not seen.
enum SanitizerTorture: TortureClass {
    static let name = "R18"
    static let title = "the whole test run under Thread and Address sanitizers"
    static let trials = 2

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        guard let tools = Project.tools else { return Tally(notRun: "there is no swift here") }
        guard access(Project.folder + "/Package.swift", R_OK) == 0 else {
            return Tally(notRun: "the package's sources are not here")
        }
        let place = try Folder.temporary()
        defer { place.remove() }
        var tally = Tally()
        for sanitizer in Sanitizer.allCases.prefix(trials) {
            do {
                try sanitizer.prepare(tools: tools)
                try control(sanitizer, tools, in: place)
            } catch let failure as Project.BuildFailure {
                return Tally(notRun: "no \(sanitizer.title): \(failure)")
            }
            try Project.build(["--build-tests"] + sanitizer.options)
            try test(sanitizer, tools, in: place, &tally)
        }
        tally.notes.append(
            "controls: a race and a use of freed memory are reported, a lock that many wait for and"
                + " a result handed over are not; leaks are not looked for; without the samples of R2, R6 and"
                + " R7, which take too long so, and of R16: libfaketime and a sanitizer wait for each other"
        )
        return tally
    }

    private static func test(
        _ sanitizer: Sanitizer, _ tools: String, in place: Folder, _ tally: inout Tally
    ) throws {
        let reports = try folder("tests-\(sanitizer.rawValue)", in: place)
        let help = try Command.run(
            "\(sanitizer.products)/mirror", ["--version"],
            environment: ["TSAN_OPTIONS": "help=1", "ASAN_OPTIONS": "help=1"])
        guard help.errors.contains("flags for \(sanitizer.title)") else {
            throw StoryFailure("the program under test has no \(sanitizer.title)")
        }
        var environment = sanitizer.environment(reports: reports, tools: tools)
        // All at once they would be so slow that servers and clients of tests lose patience.
        environment["SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH"] = "8"
        let began = Milliseconds.now
        let result = try Project.swift(
            ["test", "--skip-build"] + sanitizer.options, environment: environment, seconds: 7200)
        let lines = (result.output + result.errors).split(separator: "\n").map(String.init)
        let count = testCount(in: lines)
        var flaws = sanitizer.reports(in: reports)
        // The same issue can be printed more than once.
        flaws += Set(lines.filter { $0.hasPrefix("✘ Test ") && $0.contains(" recorded an issue") })
            .sorted().map { String($0.prefix(400)) }
        if count == 0 || (flaws.isEmpty && result.ending != .exited(0)) {
            flaws.append("the run ended with \(result.ending): \(result.errors.suffix(300))")
        }
        tally.count(count, of: sanitizer.rawValue, flaws)
        tally.notes.append(
            "\(sanitizer.title): \(count) tests in \((Milliseconds.now - began) / 1000) s")
    }

    /// Shows that the sanitizer reports what it must, from a process as tests start them, and that
    /// it takes no lock and no handing over for a race.
    private static func control(_ sanitizer: Sanitizer, _ tools: String, in place: Folder) throws {
        let program = try sanitizer.compileControl(into: place)
        let fault = sanitizer == .thread ? "race" : "memory"
        for word in [fault, "lock", "handover"] {
            let reports = try folder("\(word)-\(sanitizer.rawValue)", in: place)
            let result = try Command.run(
                program, [word],
                environment: sanitizer.environment(reports: reports, tools: tools))
            let found = sanitizer.reports(in: reports)
            if found.isEmpty == (word == fault) {
                throw StoryFailure(
                    "control \(word): \(found.count) reports; \(result.ending)"
                        + " \(result.errors.prefix(300)) \(found.first ?? "")")
            }
        }
    }

    private static func folder(_ name: String, in place: Folder) throws -> Folder {
        try place.makeFolders(above: "\(name)/.")
        return Folder(place.full(name))
    }

    /// How many tests the run says that it made.
    private static func testCount(in lines: [String]) -> Int {
        let summary = lines.last { $0.contains("Test run with ") }
        let words = summary?.split(separator: " ").map(String.init) ?? []
        guard let at = words.firstIndex(of: "with"), at + 1 < words.count else { return 0 }
        return Int(words[at + 1]) ?? 0
    }
}
