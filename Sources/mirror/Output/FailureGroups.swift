import MirrorModel

/// The failures of a run by what caused them, for the end of its report: the files, and what helps.
struct FailureGroups {
    /// The most files that a group names.
    static let mostFiles = 10

    private struct Cause: Hashable {
        let code: FailureCode
        let status: Int?
        let host: String
        let isOptional: Bool
    }

    private struct Group {
        let first: Event.Failed
        var paths: [String] = []
        var count = 0
    }

    private var groups: [Cause: Group] = [:]
    private var order: [Cause] = []

    /// Takes in a failure.
    mutating func add(_ failed: Event.Failed) {
        let source = failed.error.source ?? ""
        let rest = source.firstRange(of: "://").map { source[$0.upperBound...] } ?? source[...]
        let cause = Cause(
            code: failed.error.code, status: failed.error.status,
            host: String(rest.prefix { $0 != "/" }), isOptional: failed.isOptional)
        if groups[cause] == nil { order.append(cause) }
        var group = groups[cause] ?? Group(first: failed)
        group.count += 1
        if group.paths.count < Self.mostFiles { group.paths.append(failed.target.path) }
        groups[cause] = group
    }

    /// A block for each cause, in the order in which they were met.
    func lines(_ style: TextStyle) -> [String] {
        order.flatMap { cause -> [String] in
            guard let group = groups[cause] else { return [] }
            let label = style.label(
                cause.isOptional ? "optional" : "failed", cause.isOptional ? .warning : .failure)
            let indentation = String(repeating: " ", count: 14)
            if group.count == 1 {
                return [label + group.first.error.sentence.printable]
                    + help(group).map { indentation + style.faint($0) }
            }
            var lines = [label + "\(group.count) files: \(words(for: cause))"]
            lines += group.paths.map { indentation + $0.printable }
            if group.count > group.paths.count {
                lines.append(indentation + "and \(group.count - group.paths.count) more")
            }
            let helps = group.first.error.remedy?.sentence ?? ""
            return lines
                + (helps.isEmpty ? help(group) : [helps]).map { indentation + style.faint($0) }
        }
    }

    private func words(for cause: Cause) -> String {
        let what =
            cause.status.map { "HTTP \($0)" }
            ?? cause.code.rawValue.split(separator: "-").joined(separator: " ")
        return cause.host.isEmpty ? what : "\(what) from \(cause.host.printable)"
    }

    /// The command that helps where the sentence does not name it.
    private func help(_ group: Group) -> [String] {
        let error = group.first.error
        if error.remedy != nil { return [] }
        if error.isRetryable { return ["mirror sync tries again; what has arrived is kept."] }
        switch error.code {
        case .digestMismatch, .sizeMismatch:
            return [
                "mirror pin --update MANIFEST declares what the source has now, if that is right."
            ]
        case .noSpace: return ["mirror evict --quota SIZE makes room in Caches."]
        default:
            let path = ShellWord(group.first.target.path).description
            return ["mirror why \(path) says what was tried."]
        }
    }
}

/// A word as a shell takes it: quoted where it has to be.
struct ShellWord: CustomStringConvertible {
    let description: String

    init(_ word: String) {
        let isPlain = word.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || ("0"..."9").contains($0)
                || "/._-+@:,".unicodeScalars.contains($0)
        }
        let inner = word.split(separator: "'", omittingEmptySubsequences: false)
            .joined(separator: "'\\''")
        description = (isPlain && !word.isEmpty ? word : "'\(inner)'").printable
    }
}
