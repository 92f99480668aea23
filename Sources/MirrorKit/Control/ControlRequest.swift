internal import MirrorManifests
package import MirrorModel

/// A request from another process to a run: one line of JSON.
package enum ControlRequest: Sendable, Hashable {
    /// Stop asking for bytes of these targets; an empty list stands for all targets.
    ///
    /// - Parameter isSticky: whether the pause also holds for later runs.
    case pause([Target], isSticky: Bool)
    /// Ask for bytes again.
    case resume([Target])
    /// End the transfers of these targets; an empty list ends the run.
    case cancel([Target], discardingParts: Bool)
    /// Describe the process and its run.
    case describe
    /// Send the events of the run until the connection ends.
    case follow

    /// The longest line that is read, in bytes.
    package static let longestLine = 64 << 10

    /// Reads a line without its line break.
    ///
    /// Throws `ControlRefusal` with the flaw.
    package init(line: [UInt8]) throws(ControlRefusal) {
        guard let tree = try? JSONTree(line, file: "request") else {
            throw ControlRefusal("the request is no JSON")
        }
        guard tree["v"]?.int == 1, let verb = tree["do"]?.string else {
            throw ControlRefusal("the request is of another version")
        }
        switch verb {
        case "pause":
            self = .pause(
                try ControlRequest.targets(tree), isSticky: tree["sticky"]?.bool ?? false)
        case "resume": self = .resume(try ControlRequest.targets(tree))
        case "cancel":
            self = .cancel(
                try ControlRequest.targets(tree), discardingParts: tree["discard"]?.bool ?? false)
        case "describe": self = .describe
        case "follow": self = .follow
        default: throw ControlRefusal("this mirror cannot \(Escaped(verb, limit: 40))")
        }
    }

    private static func targets(_ tree: JSONTree) throws(ControlRefusal) -> [Target] {
        var targets: [Target] = []
        for element in tree["targets"]?.elements ?? [] {
            guard let text = element.string, let target = try? Target(text) else {
                throw ControlRefusal("a target is none")
            }
            targets.append(target)
        }
        return targets
    }

    /// The line, with its line break.
    package var line: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("v", 1)
            switch self {
            case .pause(let targets, let isSticky):
                write("pause", targets, to: &json)
                json.member("sticky", isSticky)
            case .resume(let targets): write("resume", targets, to: &json)
            case .cancel(let targets, let discardingParts):
                write("cancel", targets, to: &json)
                json.member("discard", discardingParts)
            case .describe: json.member("do", "describe")
            case .follow: json.member("do", "follow")
            }
        }
        json.newline()
        return json.take()
    }

    private func write(_ verb: String, _ targets: [Target], to json: inout JSONWriter) {
        json.member("do", verb)
        json.member("targets", targets.map(\.path))
    }
}

/// Why a request is not carried out, as the end of a sentence.
package struct ControlRefusal: Error, Hashable {
    /// The words.
    package let words: String

    /// Takes the words.
    package init(_ words: String) { self.words = words }
}
