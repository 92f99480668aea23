internal import Glibc
internal import MirrorTestSupport

/// A way to end a run, or to spoil its output, other than by SIGINT and SIGTERM.
enum OutputEnding: CustomStringConvertible {
    /// The reader of standard output, or of both outputs, goes away after so many bytes.
    case readerLeaves(after: Int, withErrors: Bool)
    /// A signal that must not matter: SIGPIPE or SIGXFSZ.
    case signal(Int32)
    /// No file may grow beyond so many bytes (setrlimit(2), RLIMIT_FSIZE).
    case fileLimit(Int)
    /// A redirection by the shell, and the exit code that it must lead to.
    case redirection(String, exit: Int32)

    static func one(of trial: Int) -> OutputEnding {
        let redirections: [(String, Int32)] = [
            (">&-", 74), ("2>&-", 0), (">&- 2>&-", 74), ("<&- >&- 2>&-", 74), (">/dev/full", 74),
            ("2>/dev/full", 0), (">/dev/full 2>/dev/full", 74), ("<&-", 0),
        ]
        let round = trial / 5
        switch trial % 5 {
        case 0: return .readerLeaves(after: round * 97 % 3000, withErrors: round % 2 == 1)
        case 1: return .signal(round % 2 == 0 ? SIGPIPE : SIGXFSZ)
        case 2, 3:
            let limits = [0, 1, 100, 4095, 4096, 20_000, 32_768, 50_000, 100_000, 300_000, 600_000]
            let number = round * 2 + trial % 5 - 2
            return .fileLimit(
                number < limits.count ? limits[number] : 100_000 + number * 68_111 % 1_950_000)
        default:
            let (words, exit) = redirections[round % redirections.count]
            return .redirection(words, exit: exit)
        }
    }

    /// A shell line in which `$0` is the program; nil when it is started without a shell. The exit
    /// code behind a pipe goes to a file.
    var shellLine: String? {
        switch self {
        case .readerLeaves(let count, let withErrors):
            "{ \"$0\" \"$@\"; echo $? >\"$HOME/status\"; } \(withErrors ? "2>&1 " : "")"
                + "| head -c \(count) >/dev/null"
        case .signal: nil
        case .fileLimit(let bytes): "exec prlimit --fsize=\(bytes) \"$0\" \"$@\""
        case .redirection(let words, _): "exec \"$0\" \"$@\" \(words)"
        }
    }

    var description: String {
        switch self {
        case .readerLeaves(let count, let withErrors):
            "the reader of \(withErrors ? "both outputs" : "the output") leaves after \(count) bytes"
        case .signal(let number): "signal \(number)"
        case .fileLimit(let bytes): "no file over \(bytes) bytes"
        case .redirection(let words, _): words
        }
    }
}

/// A small tree whose versions change, and runs whose output comes to a bad end.
struct OutputStory {
    private let ground: Playground
    private let server: OriginServer
    private var tree = ServedTree()
    private let manifest: String
    private var random: SplitMix64
    /// How many runs met the limit on file sizes, and how many parts the next run continued.
    private(set) var limited = 0
    private(set) var resumed = 0

    private static let sizes = [
        "Caches/small": 3000, "Documents/over": 90_000, "Documents/middle": 500_000,
        "tmp/large": 2_000_000,
    ]
    private static let targets = sizes.keys.sorted() + (0..<30).map { "Caches/many/\($0)" }

    init(program: String, seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        ground = try Playground(program: program, in: Folder.memory)
        server = try OriginServer(
            responder: ShelfOrigin(tree.shelf, bytesPerSecond: 16_000_000))
        manifest = try ground.write(
            manifest: tree.manifest(named: "out", at: server.url, OutputStory.targets))
    }

    func end() {
        server.stop()
        ground.remove()
    }

    /// One run over new versions, in an empty tree or in a full one; the look after it; the rerun.
    mutating func wrong(after ending: OutputEnding) throws -> [String] {
        if Bool.random(using: &random) {
            ground.root.remove()
            try ground.folder.makeFolders(above: "root/.")
        }
        for target in OutputStory.targets {
            tree.publish(
                target, TestBytes.make(OutputStory.sizes[target] ?? 2000, seed: random.next()))
        }
        let isText = Bool.random(using: &random)
        var wrong = try judged(run(ending, isText ? [] : ["--json"]), ending)
        wrong += tree.foreign(in: ground.tree())
        let again = try ground.sync(manifest).wait()
        if again.ending != .exited(0) {
            wrong.append("the rerun: \(again.ending) \(again.errors.suffix(300))")
        }
        if again.errors.contains("damaged") { wrong.append("the rerun: \(again.errors)") }
        resumed += again.summary("resumed").flatMap { Int($0) } ?? 0
        wrong += tree.outdated(in: ground.root, OutputStory.targets)
        if !ground.parts().isEmpty { wrong.append("parts are left: \(ground.parts())") }
        return wrong
    }

    private mutating func run(_ ending: OutputEnding, _ options: [String]) throws -> Command.Result
    {
        let words = ["sync", manifest, "--retries", "0"] + options
        if let line = ending.shellLine {
            return try ground.start(words, under: ["/bin/sh", "-c", line]).wait()
        }
        let run = try ground.start(words)
        if case .signal(let number) = ending {
            // Not while the program is being loaded, when nothing ignores it yet: the lock, which is
            // left by every run, names the process that has it.
            let name = Array("\n\(run.pid)\n".utf8)
            while ground.root.read(".mirror/lock")?.firstRange(of: name) == nil, !run.hasEnded {
                usleep(500)
            }
            Pause.milliseconds(Int.random(in: 0..<150, using: &random))
            run.signal(number)
        }
        return run.wait()
    }

    private mutating func judged(_ result: Command.Result, _ ending: OutputEnding) -> [String] {
        var expected: [Int32] = [0]
        var actual = result.ending
        switch ending {
        case .readerLeaves:
            let text = String(decoding: ground.folder.read("status") ?? [], as: UTF8.self)
            actual = .exited(Int32(text.trimmed) ?? -1)
            unlink(ground.folder.full("status"))
        case .signal: break
        // Where nothing is as large as the limit, there is nothing to complain about.
        case .fileLimit(let bytes):
            expected = bytes < 2_000_000 ? [74] : [0, 74]
            if actual == .exited(74) { limited += 1 }
        case .redirection(_, let exit): expected = [exit]
        }
        if expected.contains(where: { actual == .exited($0) }) { return [] }
        return ["\(actual): \(result.errors.suffix(300))"]
    }
}
