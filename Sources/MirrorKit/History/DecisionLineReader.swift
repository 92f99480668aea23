internal import MirrorManifests
internal import MirrorModel

/// Reads the decisions of a run's log, from line to line: a short line says only what its resource has
/// for itself (see `DecisionLineWriter`). Logs of older versions have no short lines.
struct DecisionLineReader {
    private static let short = Array(#"{"also":"#.utf8)

    /// What follows the name of the first member in lines about the target; nil to read all lines.
    private let path: [UInt8]?
    /// The last whole line, and its decision once that was asked for.
    private var whole: ArraySlice<UInt8> = []
    private var decision: PastDecision?

    /// A reader of all decisions, or of those about one target.
    init(about target: Target? = nil) {
        path = target.map { target in
            var json = JSONWriter()
            json.string(target.path)
            return json.take() + Array(",".utf8)
        }
    }

    /// The decision in the next line; nil for one about another target, and for one that cannot be read.
    mutating func decision(in line: ArraySlice<UInt8>) -> PastDecision? {
        let isShort = line.starts(with: Self.short)
        if !isShort { (whole, decision) = (line, nil) }
        // `path` and `also` have the same length.
        if let path, !line.dropFirst(Self.short.count).starts(with: path) { return nil }
        if decision == nil { decision = PastDecision(line: Array(whole)) }
        guard isShort else { return decision }
        return decision.flatMap { PastDecision(line: Array(line), like: $0) }
    }
}
