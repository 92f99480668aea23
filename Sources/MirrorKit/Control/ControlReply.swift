internal import MirrorManifests
package import MirrorModel

/// The answer to a request: one line of JSON.
package enum ControlReply: Sendable, Hashable {
    /// Carried out; `unknown` lists the targets that the run does not have.
    case done(unknown: [Target])
    /// What the process does.
    case job(JobDescription)
    /// Not carried out, with the reason.
    case refused(String)

    /// The line, with its line break.
    package var line: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("v", 1)
            switch self {
            case .done(let unknown):
                json.member("ok", true)
                json.member("unknown", unknown.map(\.path))
            case .job(let job):
                json.member("ok", true)
                json.key("job")
                json.object { job.writeMembers(to: &$0) }
            case .refused(let message):
                json.member("ok", false)
                json.member("message", message)
            }
        }
        json.newline()
        return json.take()
    }

    /// Reads a line without its line break; nil if it is not a reply.
    package init?(line: [UInt8]) {
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
