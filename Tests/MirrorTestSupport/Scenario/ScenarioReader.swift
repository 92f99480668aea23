/// Reads a scenario file; `Scenarios/README.md` describes the format.
struct ScenarioReader {
    private var variables: Variables
    private var phases: [Phase] = []
    private var files: [String: [UInt8]] = [:]

    /// Reads a file's text with the texts that `%NAME%` stands for.
    static func read(_ text: String, _ texts: [String: String]) throws(ScenarioFlaw) -> Scenario {
        var nodes = Outline.parse(text)
        guard let title = nodes.first else {
            throw ScenarioFlaw(line: 1, message: "expected a title")
        }
        nodes.removeFirst()
        var reader = ScenarioReader(variables: Variables(texts))
        for node in nodes { try reader.take(node) }
        guard !reader.phases.isEmpty else { throw title.flaw("expected a phase") }
        return Scenario(title: title.text, phases: reader.phases)
    }

    private init(variables: Variables) { self.variables = variables }

    private mutating func take(_ raw: Outline) throws(ScenarioFlaw) {
        let node = try raw.replacing(variables)
        switch node.words.first {
        case "bytes": try variables.define(node)
        case "manifest": files["manifest.json"] = Array(node.block.utf8)
        case "file": try takeFile(node)
        case "phase":
            var phase = Phase(title: node.words.rest, files: files)
            for child in node.children { try take(child, &phase) }
            guard !phase.arguments.isEmpty else { throw node.flaw("expected sync or run") }
            files = phase.files
            phases.append(phase)
        default: throw node.flaw("expected bytes, manifest, file or phase")
        }
    }

    private mutating func take(_ node: Outline, _ phase: inout Phase) throws(ScenarioFlaw) {
        let (word, rest) = node.words
        switch word {
        case "manifest", "file":
            try take(node)
            phase.files = files
        case "edit":
            for child in node.children { phase.edits.append(try edit(child)) }
        case "on": phase.exchanges[0].append(try exchange(node, rest))
        case "on2": phase.exchanges[1].append(try exchange(node, rest))
        case "sync":
            phase.arguments = try words(["sync", "%MANIFEST%", "--json"], node) + Words.split(rest)
        case "run": phase.arguments = Words.split(rest)
        case "input": phase.input = rest
        case "env":
            let parts = rest.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw node.flaw("expected: env NAME=VALUE") }
            phase.environment[String(parts[0])] = String(parts[1])
        case "exit":
            phase.exit = Int32(rest)
            guard phase.exit != nil || rest == "killed" else {
                throw node.flaw("expected a status or: killed")
            }
        case "tree":
            var tree: [TreeExpectation] = []
            for child in node.children { tree.append(try expectation(child)) }
            phase.tree = tree
        default: phase.sayings.append(try saying(node))
        }
    }

    private mutating func takeFile(_ node: Outline) throws(ScenarioFlaw) {
        let parts = node.words.rest.split(separator: "=", maxSplits: 1)
        let name = parts.first?.trimmed ?? ""
        files[name] =
            parts.count > 1
            ? try variables.slice(parts[1].trimmed, node) : Array(node.block.utf8)
    }

    private func words(_ words: [String], _ node: Outline) throws(ScenarioFlaw) -> [String] {
        var replaced: [String] = []
        for word in words { replaced.append(try variables.replace(in: word, line: node.line)) }
        return replaced
    }

    /// `on [optional|always] METHOD PATH`, with `need`, `no`, `body`, `fresh` and `reply` below.
    private func exchange(_ node: Outline, _ rest: String) throws(ScenarioFlaw) -> Exchange {
        var words = Words.split(rest)
        var exchange = Exchange(line: node.line, method: "", path: "")
        if words.first == "optional" || words.first == "always" {
            exchange.occurrence = words.removeFirst() == "always" ? .always : .optional
        }
        guard words.count == 2 else { throw node.flaw("expected: on METHOD PATH") }
        exchange.method = words[0]
        exchange.path = words[1]
        for child in node.children {
            let (word, rest) = child.words
            switch word {
            case "need": exchange.needs.append(present(rest))
            case "when": exchange.conditions.append(present(rest))
            case "unless": exchange.conditions.append(.absent(name: rest))
            case "no": exchange.needs.append(.absent(name: rest))
            case "body": exchange.needs.append(.body(try variables.slice(rest, child)))
            case "fresh": exchange.needs.append(.freshConnection)
            case "reply": exchange.reply = try ReplyScript.compile(child, variables)
            default: throw child.flaw("expected when, unless, need, no, body, fresh or reply")
            }
        }
        guard !exchange.reply.isEmpty else { throw node.flaw("expected a reply") }
        return exchange
    }

    /// `NAME` or `NAME: VALUE`.
    private func present(_ text: String) -> Exchange.Need {
        let parts = text.split(separator: ":", maxSplits: 1)
        return .present(
            name: parts.first?.trimmed ?? "", value: parts.count > 1 ? parts[1].trimmed : nil)
    }

    private func edit(_ node: Outline) throws(ScenarioFlaw) -> TreeEdit {
        try EditLine.read(node, variables)
    }

    private func expectation(_ node: Outline) throws(ScenarioFlaw) -> TreeExpectation {
        try TreeLine.read(node, variables)
    }

    private func saying(_ node: Outline) throws(ScenarioFlaw) -> Saying {
        let (word, rest) = node.words
        switch word {
        case "event": return .event(try EventPattern(rest, node), count: nil)
        case "no-event": return .event(try EventPattern(rest, node), count: 0)
        case "events":
            let parts = rest.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let count = Int(parts[0]) else {
                throw node.flaw("expected: events COUNT NAME FIELDS")
            }
            return .event(try EventPattern(String(parts[1]), node), count: count)
        case "summary": return .event(try EventPattern("summary " + rest, node), count: 1)
        case "document": return .document(try EventPattern("document " + rest, node))
        case "step": return .step(try EventPattern("step " + rest, node))
        case "stdout": return .output(text(rest), isExpected: true)
        case "no-stdout": return .output(text(rest), isExpected: false)
        case "stderr": return .errors(text(rest), isExpected: true)
        case "no-stderr": return .errors(text(rest), isExpected: false)
        default: throw node.flaw("\(word) is no line of a phase")
        }
    }

    /// A text as it stands, or in double quotes with escapes.
    private func text(_ rest: String) -> String {
        rest.hasPrefix("\"") ? Words.split(rest).joined(separator: " ") : rest
    }
}
