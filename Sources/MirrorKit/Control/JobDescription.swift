internal import MirrorManifests
package import MirrorModel

/// What other processes are told about a running mirror.
package struct JobDescription: Sendable, Hashable {
    /// What the process does at the moment.
    package enum Phase: String, Sendable, Hashable {
        /// A run is under way.
        case running
        /// A watch sleeps until its next sync.
        case sleeping
    }

    /// The process id (getpid(2)).
    package var process: Int32
    /// The verb that it was started with.
    package var verb: String
    /// The root's absolute path.
    package var root: String
    package var phase: Phase
    /// Whether all transfers are paused.
    package var isPaused = false
    /// When `phase` began.
    package var since: Instant
    /// When the next sync comes; set only while sleeping.
    package var until: Instant?
    /// What the run has brought, and what is left.
    package var totals = RunTotals()

    /// A job without a run.
    package init(process: Int32, verb: String, root: String, phase: Phase, since: Instant) {
        self.process = process
        self.verb = verb
        self.root = root
        self.phase = phase
        self.since = since
    }

    /// Writes the job as members of an object.
    package func writeMembers(to json: inout JSONWriter) {
        json.member("pid", Int64(process))
        json.member("verb", verb)
        json.member("root", root)
        json.member("state", phase.rawValue)
        json.member("paused", isPaused)
        json.member("since", since.rfc3339)
        json.member("until", until?.rfc3339)
        json.key("total")
        if phase == .running {
            json.object { totals.writeMembers(to: &$0) }
        } else {
            json.null()
        }
    }

    init?(_ tree: JSONTree) {
        guard let process = tree["pid"]?.int, let verb = tree["verb"]?.string,
            let root = tree["root"]?.string,
            let phase = tree["state"]?.string.flatMap(Phase.init(rawValue:)),
            let since = tree["since"]?.string.flatMap(Instant.init(rfc3339:))
        else { return nil }
        self.init(
            process: Int32(clamping: process), verb: verb, root: root, phase: phase, since: since)
        isPaused = tree["paused"]?.bool ?? false
        until = tree["until"]?.string.flatMap(Instant.init(rfc3339:))
        if let total = tree["total"] { totals = RunTotals(total) }
    }
}

extension RunTotals {
    /// The totals as `writeMembers` writes them; what is missing is zero.
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
