internal import MirrorManifests
package import MirrorModel

/// What a run is asked from outside: one line of JSON.
package enum ControlRequest: Sendable, Hashable {
    /// Stop asking for bytes: of these targets, or of all where there is none.
    ///
    /// - Parameter isSticky: whether that holds for later runs too.
    case pause([Target], isSticky: Bool)
    /// Go on.
    case resume([Target])
    /// End transfers, or the run.
    case cancel([Target], discardingParts: Bool)
    /// Say what is going on.
    case describe
    /// Send the events of the run until the connection ends.
    case follow

    /// The longest line that is read, in bytes.
    package static let longestLine = 64 << 10

    /// Reads a line without its line break.
    ///
    /// Throws `ControlRefusal` with what is wrong with it.
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

/// Why a request is not carried out, as words after which nothing follows.
package struct ControlRefusal: Error, Hashable {
    /// The words.
    package let words: String

    /// Takes the words.
    package init(_ words: String) { self.words = words }
}
