internal import Glibc

/// A run of the built program whose system calls are held against the order that a power cut survives.
///
/// Only the thread that made it may use it (ptrace(2)).
public final class DurabilityWatch {
    /// What was seen of a run.
    public struct Report: Sendable {
        /// How it ended.
        public let result: Command.Result
        /// What broke the order.
        public let flaws: [String]
        /// Targets in the order in which they got their names.
        public let named: [String]
        /// Targets in the order in which they were reported.
        public let reported: [String]
        /// Whether many files shared one flush.
        public let hasGroupFlush: Bool
        /// Paths below the root that were flushed before the index was written to.
        public let flushedBeforeRows: Set<String>
    }

    private let command: TracedCommand
    private let root: Folder
    private var ledger: DiskLedger
    private var reported: [String] = []

    /// Why no run can be watched here; nil when one can.
    public static let reasonNotPossible: String? = {
        do {
            let result = try TracedCommand("/bin/true", []).end()
            return result.ending == .exited(0) ? nil : "a traced program ends with \(result.ending)"
        } catch {
            return "\(error)"
        }
    }()

    /// Starts `sync --json` of a manifest with a root that is there.
    public init(_ ground: Playground, manifest: String, _ options: [String] = []) throws {
        root = ground.root
        ledger = DiskLedger(root: ground.root, isSet: options.contains("--atomic"))
        command = try TracedCommand(
            BuiltProgram.path(of: "mirror"), ["sync", manifest, "--json"] + options,
            environment: [
                "MIRROR_ROOT": ground.root.path, "HOME": ground.folder.path, "LANG": "C.UTF-8",
            ])
    }

    /// Lets it run to its end; `heard` is told how many targets were reported each time that there are
    /// more, and with a name after which it is to be killed, it is.
    public func run(killedAfterNaming last: String? = nil, heard: (Int) -> Void = { _ in })
        -> Report
    {
        while let call = command.next() {
            listen(heard)
            let names = command.names(of: call)
            let before = ledger.named.count
            ledger.take(call, names: names) { access($0, F_OK) == 0 }
            if let last, ledger.named.count > before, ledger.named.last == last {
                command.kill(after: call)
            } else {
                command.pass(call)
            }
        }
        listen(heard)
        let prefix = root.path + "/"
        return Report(
            result: command.end(), flaws: ledger.flaws, named: ledger.named, reported: reported,
            hasGroupFlush: ledger.hasGroupFlush,
            flushedBeforeRows: Set(
                ledger.flushedBeforeRows.filter { $0.hasPrefix(prefix) }
                    .map { String($0.dropFirst(prefix.utf8.count)) }))
    }

    /// Takes in what was reported since the last time.
    private func listen(_ heard: (Int) -> Void) {
        var isNews = false
        for event in command.newLines().compactMap({ JSONValue($0) })
        where event["event"] == .string("done") {
            guard let path = event["path"]?.word, let outcome = event["outcome"]?.word else {
                continue
            }
            ledger.report(path, outcome)
            reported.append(path)
            isNews = true
        }
        if isNews { heard(reported.count) }
    }
}
