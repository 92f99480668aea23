/// Compiles the lines below `reply` into steps.
///
/// A line that begins with `@` is a directive; any other is a line of a response head, sent as it
/// stands with CR LF. A directive, another status line or the end closes the head.
struct ReplyScript {
    private let variables: Variables
    private var steps: [ReplyStep] = []
    private var head: [String] = []

    static func compile(_ node: Outline, _ variables: Variables) throws(ScenarioFlaw) -> [ReplyStep]
    {
        var script = ReplyScript(variables: variables)
        for line in node.children { try script.take(line) }
        script.closeHead()
        return script.steps
    }

    private init(variables: Variables) { self.variables = variables }

    private mutating func take(_ node: Outline) throws(ScenarioFlaw) {
        if let child = node.children.first {
            throw child.flaw("indented beneath a line of a reply")
        }
        guard node.text.hasPrefix("@") else {
            if node.text.hasPrefix("HTTP/") { closeHead() }
            head.append(node.text)
            return
        }
        let (directive, rest) = node.words
        let words = Words.split(rest)
        switch directive {
        case "@body", "@range": try sized(directive, words, node)
        case "@asked":
            // The head stays open for the range, which only the request can tell.
            steps.append(.sendAsked(head: head, try variables.slice(rest, node)))
            head = []
        case "@send": try send(variables.slice(rest, node))
        case "@text": send(Array(words.joined(separator: " ").utf8))
        case "@head":
            let count = try number(words.first, node)
            head += (0..<count).map { "X-Filler-\($0): \(String(repeating: "x", count: 1000))" }
        case "@chunked": try chunked(words, node)
        case "@trickle":
            try append(
                .trickle(
                    variables.slice(words.first ?? "", node),
                    count: number(words.dropFirst().first, node),
                    milliseconds: number(words.dropFirst(2).first, node)))
        case "@endless": try append(.endless(variables.slice(rest, node)))
        case "@pause": try append(.pause(milliseconds: number(words.first, node)))
        case "@hold": append(.hold)
        case "@requests": try append(.waitForRequests(number(words.first, node)))
        case "@signal": try append(.signal(signal(rest, node)))
        case "@close": append(.finish)
        case "@reset": append(.reset)
        default: throw node.flaw("\(directive) is no directive")
        }
    }

    /// `@body NAME [cut N]` and `@range NAME A-B [cut N]`: the length, the range and the bytes.
    private mutating func sized(
        _ directive: String, _ words: [String], _ node: Outline
    ) throws(ScenarioFlaw) {
        var words = words[...]
        guard let name = words.popFirst() else { throw node.flaw("expected a name") }
        var bytes = try variables.slice(name, node)
        if directive == "@range" {
            let span = try ByteSpan(words.popFirst() ?? "", of: bytes.count, node)
            head.append("Content-Range: bytes \(span.first)-\(span.end - 1)/\(bytes.count)")
            bytes = Array(bytes[span.first..<span.end])
        }
        head.append("Content-Length: \(bytes.count)")
        if words.popFirst() == "cut" { bytes = Array(bytes.prefix(try number(words.first, node))) }
        send(bytes)
    }

    /// `@chunked NAME [SIZE]`: chunks of SIZE bytes, without the last one of length zero.
    private mutating func chunked(_ words: [String], _ node: Outline) throws(ScenarioFlaw) {
        guard let name = words.first else { throw node.flaw("expected a name") }
        let bytes = try variables.slice(name, node)
        let size = words.count > 1 ? try number(words[1], node) : 16384
        var framed: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            let chunk = bytes[start..<min(start + size, bytes.count)]
            framed += Array((String(chunk.count, radix: 16) + "\r\n").utf8) + chunk
            framed += [13, 10]
        }
        send(framed)
    }

    private mutating func append(_ step: ReplyStep) {
        closeHead()
        steps.append(step)
    }

    private mutating func send(_ bytes: [UInt8]) { append(.send(bytes)) }

    private mutating func closeHead() {
        guard !head.isEmpty else { return }
        steps.append(.send(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8)))
        head = []
    }

    private func number(_ word: String?, _ node: Outline) throws(ScenarioFlaw) -> Int {
        guard let word, let number = Int(word) else { throw node.flaw("expected a number") }
        return number
    }

    private func signal(_ name: String, _ node: Outline) throws(ScenarioFlaw) -> Int32 {
        switch name {
        case "KILL": 9
        case "INT": 2
        case "TERM": 15
        case "HUP": 1
        default: throw node.flaw("expected KILL, INT, TERM or HUP")
        }
    }
}
