internal import Glibc
internal import MirrorTestSupport

/// Coverage-guided fuzzing: libFuzzer invents inputs for every parser, and each input is a trial.
///
/// The program under trial is not mirror but its parsers with libFuzzer and AddressSanitizer built
/// in, which `Tests/MirrorFuzz` says more of. It begins with the corpus in `Tests/Fuzz` and leaves
/// that as it is; what it finds goes to the folder that `FUZZ_KEEP` names, where one is named.
enum FuzzTorture: TortureClass {
    static let name = "R17"
    static let title = "coverage-guided fuzzing of every parser"
    static let trials = 1_000_000

    /// A parser as the fuzzing program lists it.
    private struct Parser {
        let name: String
        let longest: String
        let dictionary: String?
    }

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        do {
            try Project.build([
                // Of two `--sanitize` only the last would count.
                "-c", "release", "--sanitize", "fuzzer", "-Xswiftc", "-sanitize=fuzzer,address",
                "-Xswiftc", "-DFUZZING", "-Xswiftc", "-enable-testing",
                "--scratch-path", ".build/fuzz", "--product", "mirror-fuzz",
            ])
        } catch let failure as Project.BuildFailure
            where failure.description.contains("libclang_rt.fuzzer")
        {
            return Tally(notRun: "this toolchain has no libFuzzer")
        }
        let fuzzer = Project.folder + "/.build/fuzz/release/mirror-fuzz"
        let scratch = try Folder.temporary()
        defer { scratch.remove() }
        var tally = Tally()
        var speeds: [Int] = []
        var waiting = try parsers(of: fuzzer)[...]
        var running: [(parser: Parser, command: Command)] = []
        let jobs = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        while !waiting.isEmpty || !running.isEmpty {
            while running.count < jobs, let parser = waiting.popFirst() {
                let command = try start(fuzzer, parser, trials, seed, scratch)
                running.append((parser, command))
            }
            let (parser, command) = running.removeFirst()
            let result = command.wait(seconds: 3600)
            let count = number("number_of_executed_units", in: result.errors)
            speeds.append(number("average_exec_per_sec", in: result.errors))
            let wrong = flaws(in: result, scratch, parser, isShort: count < trials)
            tally.count(count, of: parser.name, wrong)
        }
        tally.notes.append(
            "\(speeds.count) parsers, \(speeds.min() ?? 0) to \(speeds.max() ?? 0) trials a second"
                + " each")
        return tally
    }

    private static func parsers(of fuzzer: String) throws -> [Parser] {
        let result = try Command.run(fuzzer, [], environment: quiet)
        guard !result.output.isEmpty else {
            throw Project.BuildFailure(
                description: "mirror-fuzz lists no parsers: \(result.errors)")
        }
        return result.output.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard words.count >= 2 else { return nil }
            return Parser(
                name: words[0], longest: words[1], dictionary: words.count > 2 ? words[2] : nil)
        }
    }

    /// Swift's own backtraces would come between a trap and libFuzzer, which keeps the input. Where
    /// each piece of memory came from takes a quarter of the time to note, and an input can be replayed.
    private static let quiet = [
        "SWIFT_BACKTRACE": "enable=no", "ASAN_OPTIONS": "malloc_context_size=1",
    ]

    private static func start(
        _ fuzzer: String, _ parser: Parser, _ trials: Int, _ seed: UInt64, _ scratch: Folder
    ) throws -> Command {
        let kept = getenv("FUZZ_KEEP").map { Folder(String(cString: $0)) } ?? scratch
        try kept.makeFolders(above: "\(parser.name)/new/.")
        try scratch.makeFolders(above: "\(parser.name)/flaws/.")
        let tests = Project.folder + "/Tests/Fuzz/"
        let dictionary = parser.dictionary.map { ["-dict=\(tests)dictionaries/\($0).dict"] } ?? []
        let options = [
            "-runs=\(trials)", "-seed=\(seed % 0xFFFF_FFFF + 1)", "-max_len=\(parser.longest)",
            "-rss_limit_mb=2048", "-timeout=10", "-print_final_stats=1",
            "-print_funcs=0",
            "-artifact_prefix=\(scratch.full("\(parser.name)/flaws/"))",
        ]
        return try Command(
            fuzzer,
            options + dictionary + [
                kept.full("\(parser.name)/new"), "\(tests)corpus/\(parser.name)",
            ], environment: quiet.merging(["MIRROR_FUZZ": parser.name]) { $1 })
    }

    /// What libFuzzer said, and the input in hexadecimal digits.
    private static func flaws(
        in result: Command.Result, _ scratch: Folder, _ parser: Parser, isShort: Bool
    ) -> [String] {
        let said = result.errors.split(separator: "\n").filter {
            ["FLAW: ", "SUMMARY: ", "Fatal error"].contains(where: $0.contains)
        }.map { String($0.prefix(300)) }
        let inputs = scratch.entries(beneath: "\(parser.name)/flaws").map { entry in
            let bytes = scratch.read(entry.name) ?? []
            return "input "
                + bytes.prefix(400).map { byte in
                    let digits = String(byte, radix: 16)
                    return digits.utf8.count < 2 ? "0" + digits : digits
                }.joined()
        }
        let isFlawed = result.ending != .exited(0) || !inputs.isEmpty || isShort
        return isFlawed
            ? [(["\(result.ending)"] + said + inputs).joined(separator: "; ")] : []
    }

    /// A figure of libFuzzer's last lines; 0 when it is missing.
    private static func number(_ name: String, in text: String) -> Int {
        let line = text.split(separator: "\n").last { $0.hasPrefix("stat::\(name):") }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }
}
