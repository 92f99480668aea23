/// A request from another process to a run: one line of JSON.
package struct ControlRequest: Sendable, Hashable {
    /// What the other process should do.
    package enum Verb: String, Sendable {
        /// Stop asking for bytes of the targets.
        case pause
        /// Ask for bytes again.
        case resume
        /// End the transfers of the targets, or the run.
        case cancel
        /// Describe the process and its run.
        case describe
        /// Send the events of the run until the connection ends.
        case follow

        fileprivate var hasTargets: Bool { self != .describe && self != .follow }

        /// The key of `isThorough`. `nil` if the verb has no such choice.
        fileprivate var option: StaticString? {
            switch self {
            case .pause: "sticky"
            case .cancel: "discard"
            case .resume, .describe, .follow: nil
            }
        }
    }

    package var verb: Verb
    /// The targets of the request. An empty list stands for all targets.
    package var targets: [Target] = []
    /// Whether a pause holds for later runs too, or a cancellation deletes the parts.
    package var isThorough = false

    package init(_ verb: Verb, _ targets: [Target] = [], isThorough: Bool = false) {
        (self.verb, self.targets, self.isThorough) = (verb, targets, isThorough)
    }

    /// The longest line that is read, in bytes.
    static let longestLine = 64 << 10

    /// Parses a line without its line break.
    ///
    /// Throws `MirrorError` with `usage`, whose message is only the end of a sentence.
    init(line: [UInt8]) throws(MirrorError) {
        guard let tree = try? JSONTree(line, file: "request") else {
            throw MirrorError(.usage, "the request is no JSON")
        }
        guard tree["v"]?.int == 1, let word = tree["do"]?.string else {
            throw MirrorError(.usage, "the request is of another version")
        }
        guard let verb = Verb(rawValue: word) else {
            throw MirrorError(.usage, "this mirror cannot \(Escaped(word, limit: 40))")
        }
        self.verb = verb
        if verb.hasTargets {
            // A missing list is an error, because an empty list stands for all targets.
            guard case .array(let elements) = tree["targets"]?.value else {
                throw MirrorError(.usage, "targets is no list")
            }
            targets = elements.compactMap { $0.string.flatMap { try? Target($0) } }
            guard targets.count == elements.count else {
                throw MirrorError(.usage, "a target is none")
            }
        }
        if let option = verb.option, let value = tree["\(option)"] {
            guard let flag = value.bool else {
                throw MirrorError(.usage, "\(option) is neither true nor false")
            }
            isThorough = flag
        }
    }

    /// The request as a line of JSON, with its line break.
    var line: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("v", 1)
            json.member("do", verb.rawValue)
            if verb.hasTargets { json.member("targets", targets.map(\.path)) }
            if let option = verb.option { json.member(option, isThorough) }
        }
        json.newline()
        return json.take()
    }

    /// Splits the request into requests whose lines are no longer than `longestLine`.
    package var pieces: [ControlRequest] {
        var pieces = [ControlRequest(verb, isThorough: isThorough)]
        var bytes = 0
        for target in targets {
            bytes += target.path.utf8.count
            // Escapes can make a path several times as long.
            if bytes > ControlRequest.longestLine / 8, bytes > target.path.utf8.count {
                pieces.append(ControlRequest(verb, isThorough: isThorough))
                bytes = target.path.utf8.count
            }
            pieces[pieces.count - 1].targets.append(target)
        }
        return pieces
    }
}

/// The reply to a request: one line of JSON.
package enum ControlReply: Sendable, Hashable {
    /// The request was carried out. `unknown` lists the targets that the run does not have.
    case done(unknown: [Target])
    /// The reply to `describe` and `follow`: what the process does.
    case job(JobDescription)
    /// The request was not carried out, for this reason.
    case refused(String)

    /// The reply as a line of JSON, with its line break.
    var line: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("v", 1)
            switch self {
            case .done(let unknown):
                json.member("ok", true)
                json.member("unknown", unknown.map(\.path))
            case .job(let job):
                json.member("ok", true)
                json.object("job") { job.writeMembers(to: &$0) }
            case .refused(let message):
                json.member("ok", false)
                json.member("message", message)
            }
        }
        json.newline()
        return json.take()
    }

    /// Parses a line without its line break. Returns nil if the line is no reply.
    init?(line: [UInt8]) {
        guard let tree = try? JSONTree(line, file: "reply"), let isDone = tree["ok"]?.bool else {
            return nil
        }
        if !isDone {
            self = .refused(tree["message"]?.string ?? "no reason was given")
        } else if let job = tree["job"].flatMap(JobDescription.init) {
            self = .job(job)
        } else {
            self = .done(
                unknown: (tree["unknown"]?.elements ?? []).compactMap {
                    $0.string.flatMap { try? Target($0) }
                })
        }
    }
}

/// What a running mirror reports about itself to other processes.
package struct JobDescription: Sendable, Hashable {
    /// The process id (getpid(2)).
    package var process: Int32
    /// The verb of the process's command line.
    package var verb: String
    /// The root's absolute path.
    package var root: String
    /// Whether a run is under way. Otherwise a watch sleeps until its next sync.
    package var isRunning: Bool
    /// Whether all transfers are paused.
    package var isPaused = false
    /// When the run or the sleep began.
    package var since: Instant
    /// When the next sync begins. `nil` while a run is under way.
    package var until: Instant?
    /// What the run has received, and what is left.
    package var totals = RunTotals()

    /// A job that has no totals yet.
    package init(process: Int32, verb: String, root: String, isRunning: Bool, since: Instant) {
        self.process = process
        self.verb = verb
        self.root = root
        self.isRunning = isRunning
        self.since = since
    }

    /// Writes the job as members of a JSON object.
    package func writeMembers(to json: inout JSONWriter) {
        json.member("pid", Int64(process))
        json.member("verb", verb)
        json.member("root", root)
        json.member("state", isRunning ? "running" : "sleeping")
        json.member("paused", isPaused)
        json.member("since", since.rfc3339)
        json.member("until", until?.rfc3339)
        json.key("total")
        if isRunning {
            json.object { totals.writeMembers(to: &$0) }
        } else {
            json.null()
        }
    }

    init?(_ tree: JSONTree) {
        guard let process = tree["pid"]?.int, let verb = tree["verb"]?.string,
            let root = tree["root"]?.string,
            let state = tree["state"]?.string, ["running", "sleeping"].contains(state),
            let since = tree["since"]?.string.flatMap(Instant.init(rfc3339:))
        else { return nil }
        self.init(
            process: Int32(clamping: process), verb: verb, root: root,
            isRunning: state == "running", since: since)
        isPaused = tree["paused"]?.bool ?? false
        until = tree["until"]?.string.flatMap(Instant.init(rfc3339:))
        if let total = tree["total"] { totals = RunTotals(total) }
    }
}

extension RunTotals {
    /// Reads totals that `writeMembers` has written; a missing member counts as zero.
    init(_ tree: JSONTree) {
        self.init()
        func number(_ name: String) -> Int64 { tree[name]?.int ?? 0 }
        transfers = Int(clamping: number("transfers"))
        ended = Int(clamping: number("ended"))
        failed = Int(clamping: number("failed"))
        bytes = number("bytes")
        expectedBytes = number("expectedBytes")
        unknownSizes = Int(clamping: number("unknownSizes"))
        rate = number("rate")
        secondsLeft = tree["secondsLeft"]?.int
    }
}

extension Event {
    /// Parses an event that another process sends. Returns nil for other lines.
    ///
    /// Members that a display does not show get made-up values, for example the reason.
    package init?(line: [UInt8]) {
        guard let tree = try? JSONTree(line, file: "event"),
            let body = Event.Body(tree), let run = tree["run"]?.string,
            let time = tree["time"]?.string.flatMap(Instant.init(rfc3339:))
        else { return nil }
        self.init(
            run: run, time: time, body: body,
            totals: tree["total"].map { RunTotals($0) } ?? RunTotals())
    }
}

extension Event.Body {
    fileprivate init?(_ tree: JSONTree) {
        let target = tree["path"]?.string.flatMap { try? Target($0) }
        let step = tree["step"]?.string.flatMap(Step.Kind.init(rawValue:)) ?? .fetch
        switch (tree["event"]?.string, target) {
        case ("start", let target?):
            self = .start(
                Event.Start(
                    target: target, step: step, reason: .missing, source: tree["source"]?.string,
                    size: tree["size"]?.int, offset: tree["offset"]?.int ?? 0))
        case ("progress", let target?):
            self = .progress(
                Event.Progress(
                    target: target, bytes: tree["bytes"]?.int ?? 0, size: tree["size"]?.int,
                    rate: tree["rate"]?.int ?? 0,
                    stage: tree["stage"]?.string.flatMap(TransferStage.init(rawValue:))
                        ?? .receiving))
        case ("restart", let target?): self = .restart(Event.Again(target, tree))
        case ("retry", let target?): self = .retry(Event.Again(target, tree))
        case ("done", let target?):
            let outcome = tree["outcome"]?.string.flatMap(Outcome.init(rawValue:)) ?? .fetched
            self = .done(
                Event.Done(
                    target: target, step: step, outcome: outcome, reason: .missing,
                    verified: tree["verified"]?.string.flatMap(Verification.init(rawValue:))
                        ?? .none))
        case ("failed", let target?):
            self = .failed(
                Event.Failed(
                    target: target, step: step, error: MirrorError(tree), isOptional: false,
                    manifest: tree["manifest"]?.string ?? "", line: 0))
        default: return nil
        }
    }
}

extension Event.Again {
    fileprivate init(_ target: Target, _ tree: JSONTree) {
        self.init(
            target: target,
            cause: MirrorError(
                FailureCode(rawValue: tree["cause"]?.string ?? ""),
                tree["message"]?.string ?? ""),
            attempt: Int(clamping: tree["attempt"]?.int ?? 1),
            wait: Int64(((tree["wait"]?.double ?? 0) * 1000).rounded()))
        if let next = tree["try"]?.int, let most = tree["tries"]?.int {
            tries = (Int(clamping: next), Int(clamping: most))
        }
    }
}

extension MirrorError {
    fileprivate init(_ tree: JSONTree) {
        self.init(
            FailureCode(rawValue: tree["code"]?.string ?? ""), tree["message"]?.string ?? "")
    }
}
