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
                try ControlRequest.targets(tree),
                isSticky: try ControlRequest.flag("sticky", tree))
        case "resume": self = .resume(try ControlRequest.targets(tree))
        case "cancel":
            self = .cancel(
                try ControlRequest.targets(tree),
                discardingParts: try ControlRequest.flag("discard", tree))
        case "describe": self = .describe
        case "follow": self = .follow
        default: throw ControlRefusal("this mirror cannot \(Escaped(verb, limit: 40))")
        }
    }

    /// The targets. A list that is missing, or none, must not stand for all of them.
    private static func targets(_ tree: JSONTree) throws(ControlRefusal) -> [Target] {
        guard case .array(let elements) = tree["targets"]?.value else {
            throw ControlRefusal("targets is no list")
        }
        var targets: [Target] = []
        for element in elements {
            guard let text = element.string, let target = try? Target(text) else {
                throw ControlRefusal("a target is none")
            }
            targets.append(target)
        }
        return targets
    }

    private static func flag(_ key: String, _ tree: JSONTree) throws(ControlRefusal) -> Bool {
        guard let value = tree[key] else { return false }
        guard let flag = value.bool else {
            throw ControlRefusal("\(key) is neither true nor false")
        }
        return flag
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

    /// The same as requests that are not too long to be read.
    package var pieces: [ControlRequest] {
        switch self {
        case .pause(let targets, let isSticky):
            ControlRequest.pieces(of: targets) { .pause($0, isSticky: isSticky) }
        case .resume(let targets): ControlRequest.pieces(of: targets) { .resume($0) }
        case .cancel(let targets, let discardingParts):
            ControlRequest.pieces(of: targets) { .cancel($0, discardingParts: discardingParts) }
        case .describe, .follow: [self]
        }
    }

    /// The targets that it names.
    package var targets: [Target] {
        switch self {
        case .pause(let targets, _), .resume(let targets), .cancel(let targets, _): targets
        case .describe, .follow: []
        }
    }

    private static func pieces(
        of targets: [Target], _ request: ([Target]) -> ControlRequest
    ) -> [ControlRequest] {
        var pieces: [[Target]] = [[]]
        var bytes = 0
        for target in targets {
            bytes += target.path.utf8.count
            // Escapes can make a path several times as long.
            if bytes > longestLine / 8, !pieces[pieces.count - 1].isEmpty {
                pieces.append([])
                bytes = target.path.utf8.count
            }
            pieces[pieces.count - 1].append(target)
        }
        return pieces.map(request)
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
