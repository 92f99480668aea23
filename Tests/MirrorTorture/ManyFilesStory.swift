internal import Glibc
internal import MirrorTestSupport

/// A signal while thousands of small files are under way, on a disk: the run ends within a second,
/// the summary is its last line, and the next run goes on.
struct ManyFilesStory {
    private let ground: Playground
    private let server: OriginServer
    private var tree = ServedTree()
    private let targets = (0..<20_000).map { "Caches/\($0 / 500)/\($0)" }
    private let manifest: String
    private var random: SplitMix64
    private var version: UInt64 = 0
    /// How many runs were under way when their signal came.
    private(set) var interrupted = 0
    /// The longest time from a signal to the end, in milliseconds.
    private(set) var slowest = 0

    init(program: String, seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        ground = try Playground(program: program)
        server = try OriginServer(responder: ShelfOrigin(tree.shelf))
        manifest = try ground.write(
            manifest: tree.manifest(named: "many", at: server.url, targets))
        publish()
    }

    func end() {
        server.stop()
        ground.remove()
    }

    private mutating func publish() {
        version += 1
        for (number, target) in targets.enumerated() {
            tree.publish(
                target, TestBytes.make(100 + number % 4000, seed: version << 32 | UInt64(number)))
        }
    }

    /// One run that a signal ends; after every fifth, one to the end, and new versions of everything.
    mutating func round(_ trial: Int) throws -> [String] {
        let signal = trial % 2 == 0 ? SIGINT : SIGTERM
        let run = try ground.sync(manifest)
        Pause.milliseconds(Int.random(in: 100..<3000, using: &random))
        run.signal(signal)
        let began = Milliseconds.now
        let result = run.wait()
        let took = Milliseconds.now - began
        var wrong: [String] = []
        if result.ending == .exited(128 + signal) {
            interrupted += 1
            slowest = max(slowest, took)
            if took > 1000 { wrong.append("\(took) ms") }
        } else if result.ending != .exited(0) {
            wrong.append("\(result.ending): \(result.errors.suffix(300))")
        }
        if case .exited(let status) = result.ending, result.summary("exit") != String(status) {
            let last = result.output.split(separator: "\n").last ?? ""
            wrong.append("the last line is no summary of exit \(status): \(last.prefix(200))")
        }
        wrong += tree.foreign(in: ground.tree())
        guard trial % 5 == 4 else { return Array(wrong.prefix(5)) }
        let again = try ground.sync(manifest).wait(seconds: 300)
        if again.ending != .exited(0) {
            wrong.append("the rerun: \(again.ending) \(again.errors.suffix(300))")
        }
        wrong += tree.outdated(in: ground.root, targets)
        if !ground.parts().isEmpty { wrong.append("parts are left: \(ground.parts().count)") }
        publish()
        return Array(wrong.prefix(5))
    }
}
