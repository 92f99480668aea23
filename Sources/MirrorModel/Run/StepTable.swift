/// The steps of a run that are under way, by the positions of their steps.
///
/// A step is in it from the moment at which its row is asked for until it has ended, or until it
/// holds its bytes for a set.
struct StepTable {
    private var works: [Serial: StepWork] = [:]
    /// How many of them are steps that need no server.
    private(set) var local = 0

    /// How many there are.
    var count: Int { works.count }

    subscript(position: Int) -> StepWork? { works[position] }

    /// Adds a step that has begun, or that goes on.
    mutating func insert(_ work: StepWork, at position: Int) {
        if work.isLocal { local += 1 }
        works[position] = work
    }

    /// Removes a step; nil when it is not under way.
    @discardableResult
    mutating func remove(_ position: Int) -> StepWork? {
        guard let work = works.removeValue(forKey: position) else { return nil }
        if work.isLocal { local -= 1 }
        return work
    }
}
