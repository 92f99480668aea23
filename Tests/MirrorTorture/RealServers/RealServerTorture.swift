internal import MirrorTestSupport

/// Resume, ranges, conditions and redirects against server programs as Debian ships them.
enum RealServerTorture: TortureClass {
    static let name = "R19"
    static let title = "real servers and a proxy"
    static let trials = 1000

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        let servers = RealServer.all.filter(\.isInstalled)
        let missing = RealServer.all.filter { !$0.isInstalled }.map(\.name)
        guard RealServer.nginx.isInstalled, !servers.isEmpty else {
            return Tally(notRun: "\(missing.joined(separator: ", ")) are not installed")
        }
        var tally = Tally()
        var random = SplitMix64(seed: seed)
        for server in servers {
            let stage = try RealStage(program: program, server)
            defer { stage.end() }
            for story in RealStory.allCases.spread(max(1, trials / servers.count)) {
                tally.count(
                    "\(server.name): \(story.rawValue)",
                    try stage.wrong(in: story, seed: random.next()))
            }
        }
        tally.notes.append(servers.map(\.name).joined(separator: ", "))
        if !missing.isEmpty {
            tally.notes.append("not installed: \(missing.joined(separator: ", "))")
        }
        return tally
    }
}

/// What is tried with each server.
enum RealStory: String, CaseIterable {
    case confirmed = "files of many sizes are confirmed by 304"
    case resumed = "a killed run is continued"
    case resumedBehindRedirect = "a killed run is continued behind a redirect"
    case resumedByPin = "a killed run is continued under a digest"
    case changed = "a new version is not joined to a part of the old one"
    case changedBehindRedirect = "a new version behind a redirect is not joined to a part"
    case changedUnderPin = "a new version under a digest is not joined to a part"
    case changedInSecond = "a version of the same second and size is not joined to a part"
    case shrunk = "a part that is longer than the new version is dropped"
    case updated = "an update is fetched, and its interrupted run continued"
    case absent = "what is not there is refused"
    case folder = "a folder is no file"
    case names = "names with spaces, percent signs and letters"
    case identity = "a server that compresses is not let"
    case partAltered = "a part that was altered is not continued"
}

extension Command.Result {
    /// A complaint unless it ended with a status.
    func unless(_ status: Int32, _ what: String) -> [String] {
        ending == .exited(status)
            ? []
            : ["\(what): \(ending), not \(status): \(errors.suffix(300)) \(output.suffix(300))"]
    }
}
