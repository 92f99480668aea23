/// A misbehaviour as data: what a server sends, what runs, and what must be true afterwards.
public struct Scenario: Sendable {
    /// The sentence that the scenario shows to be true.
    public var title: String
    /// The parts of its story, each with one run of the program.
    public var phases: [Phase]
}

/// One run of the program: what the tree and the servers are before, and what is expected after.
public struct Phase: Sendable {
    /// What happens in it.
    public var title: String
    /// What someone does to the tree before the run.
    package var edits: [TreeEdit] = []
    /// Files beside the root that are written before the run, e.g. the manifest.
    package var files: [String: [UInt8]] = [:]
    /// The requests that the two origins expect.
    package var exchanges: [[Exchange]] = [[], []]
    /// The words after the program's name.
    package var arguments: [String] = []
    /// The environment besides what every run gets.
    package var environment: [String: String] = [:]
    /// The file beside the root that standard input reads.
    package var input: String?
    /// The expected exit status; nil for an end by a signal.
    package var exit: Int32? = 0
    /// What the tree holds afterwards; nil leaves it open.
    package var tree: [TreeExpectation]?
    /// What the run says.
    var sayings: [Saying] = []
}

/// What someone does to the tree between two runs.
package enum TreeEdit: Sendable {
    case write(path: String, [UInt8])
    case append(path: String, [UInt8])
    case overwrite(path: String, offset: Int, [UInt8])
    case truncate(path: String, Int)
    case remove(path: String)
    case touch(path: String)
    case chmod(path: String, Int)
    case link(path: String, to: String)
    case folder(path: String)
    case copyRoot
}

/// What a path of the tree is afterwards.
package enum TreeExpectation: Sendable {
    case file(path: String, [UInt8])
    case part(of: String, atLeast: Int)
    case untouched(path: String)
    case mode(path: String, Int)
    case modified(path: String, Int)
    case link(path: String)
    case absent(path: String)
    case empty
}

/// What a run writes.
enum Saying: Sendable {
    case event(EventPattern, count: Int?)
    case document(EventPattern)
    case step(EventPattern)
    case output(String, isExpected: Bool)
    case errors(String, isExpected: Bool)
}
