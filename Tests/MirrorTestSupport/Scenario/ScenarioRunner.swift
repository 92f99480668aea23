internal import Glibc
internal import Synchronization

/// Runs a scenario against the built program, with two origins and a folder of its own.
public struct ScenarioRunner: Sendable {
    /// What did not come as expected, and all that was seen.
    public struct Report: Sendable {
        /// A sentence for each expectation that did not hold; empty when the scenario held.
        public var complaints: [String] = []
        /// What the program wrote and which requests came, for whoever looks for the reason.
        public var transcript = ""
    }

    private let program: String

    /// Takes the path of the program.
    public init(program: String) { self.program = program }

    /// Reads a scenario's text without running it; throws `ScenarioFlaw`.
    public static func check(_ text: String) throws -> Scenario {
        let names = ["ORIGIN", "ORIGIN2", "AUTHORITY", "CLOSED", "ROOT", "DIR", "MANIFEST"]
        return try ScenarioReader.read(
            text, Dictionary(uniqueKeysWithValues: names.map { ($0, "http://127.0.0.1:1") }))
    }

    /// Runs every phase in order, up to the first that does not hold.
    public func run(_ text: String) throws -> Report {
        let stage = try Stage(program: program)
        defer { stage.end() }
        let scenario = try ScenarioReader.read(text, stage.texts)
        var report = Report()
        for phase in scenario.phases where report.complaints.isEmpty {
            report.transcript += "--- \(phase.title)\n"
            try stage.run(phase, &report)
        }
        return report
    }
}

/// The folder, the origins and the running program of one scenario.
private final class Stage {
    private let program: String
    private let folder: Folder
    private let root: Folder
    private let scripts: [ScriptedOrigin]
    private let servers: [OriginServer]
    private let closed: ClosedPort
    private let running: RunningProgram
    private var written: [String: [UInt8]] = [:]

    init(program: String) throws {
        let running = RunningProgram()
        self.program = program
        self.running = running
        folder = try Folder.temporary()
        root = Folder(folder.path + "/root")
        try folder.makeFolders(above: "root/.")
        scripts = (0..<2).map { _ in ScriptedOrigin([]) { running.signal($0) } }
        servers = try scripts.map { try OriginServer(responder: $0) }
        closed = try ClosedPort()
    }

    var texts: [String: String] {
        [
            "ORIGIN": servers[0].url, "ORIGIN2": servers[1].url, "ROOT": root.path,
            "AUTHORITY": servers[0].authority, "CLOSED": "http://127.0.0.1:\(closed.port)",
            "DIR": folder.path, "MANIFEST": folder.full("manifest.json"),
        ]
    }

    func end() {
        for server in servers { server.stop() }
        folder.remove()
    }

    func run(_ phase: Phase, _ report: inout ScenarioRunner.Report) throws {
        // What a run made of a file stays until the scenario says otherwise.
        for (name, bytes) in phase.files where written[name] != bytes {
            try folder.write(name, bytes)
        }
        written = phase.files
        for edit in phase.edits { try TreeEditing(root: root).carryOut(edit) }
        for (script, exchanges) in zip(scripts, phase.exchanges) { script.expect(exchanges) }
        let inspection = TreeInspection(root: root)
        let stamps = inspection.stamps()
        let command = try Command(
            program, phase.arguments, environment: environment(phase),
            input: phase.input.map(folder.full), folder: root.path)
        running.set(command)
        let result = command.wait(seconds: 60)
        running.set(nil)

        report.transcript += "\(phase.arguments.joined(separator: " "))\n\(result.ending)\n"
        report.transcript += "stdout:\n\(result.output)stderr:\n\(result.errors)requests:\n"
        for request in scripts.flatMap(\.requests) {
            report.transcript += String(decoding: request.head, as: UTF8.self)
        }
        report.complaints += complaints(phase, result)
        report.complaints += scripts.flatMap(\.complaints)
        if let tree = phase.tree {
            report.complaints += inspection.complaints(about: tree, before: stamps)
        }
    }

    private func environment(_ phase: Phase) -> [String: String] {
        ["MIRROR_ROOT": root.path, "HOME": folder.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"]
            .merging(phase.environment) { $1 }
    }

    private func complaints(_ phase: Phase, _ result: Command.Result) -> [String] {
        let ending = phase.exit.map { Command.Ending.exited($0) } ?? .signalled(SIGKILL)
        var complaints: [String] = []
        if result.ending != ending { complaints.append("\(result.ending), not \(ending)") }
        let events = result.output.split(separator: "\n").compactMap { JSONValue($0) }
        for saying in phase.sayings {
            if let complaint = saying.complaint(result, events) { complaints.append(complaint) }
        }
        return complaints
    }
}

/// The program that a signal of a reply goes to.
private final class RunningProgram: Sendable {
    private let command = Mutex<Command?>(nil)

    func set(_ command: Command?) { self.command.withLock { $0 = command } }

    /// Waits for the program to be known: its first request may come before spawning returns here.
    func signal(_ number: Int32) {
        for _ in 0..<1000 {
            if let command = command.withLock({ $0 }) { return command.signal(number) }
            usleep(1000)
        }
    }
}

extension Saying {
    /// What a run did not say, or should not have said; nil when it is as expected.
    fileprivate func complaint(_ result: Command.Result, _ events: [JSONValue]) -> String? {
        switch self {
        case .event(let pattern, let count):
            let found = events.filter(pattern.matches).count
            if let count {
                return found == count
                    ? nil : "\(found) events, not \(count), are: \(pattern.text)"
            }
            return found > 0 ? nil : "no event is: \(pattern.text)"
        case .document(let pattern):
            guard let document = JSONValue(result.output) else {
                return "stdout is no JSON document"
            }
            return pattern.hasFields(document) ? nil : "the document is not: \(pattern.text)"
        case .step(let pattern):
            guard case .array(let steps) = JSONValue(result.output)?["steps"] else {
                return "stdout is no plan"
            }
            return steps.contains(where: pattern.hasFields) ? nil : "no step is: \(pattern.text)"
        case .output(let text, let isExpected):
            return result.output.contains(text) == isExpected
                ? nil : "stdout \(isExpected ? "lacks" : "has"): \(text)"
        case .errors(let text, let isExpected):
            return result.errors.contains(text) == isExpected
                ? nil : "stderr \(isExpected ? "lacks" : "has"): \(text)"
        }
    }
}
