internal import MirrorModel
internal import MirrorSystem

/// The landings of a run that wait until nobody reads their files any more.
///
/// It belongs to the thread of the run. A landing begins only when this run has its file, or all
/// files of its set, exclusively (`FileLeases`); whoever gives the last one back posts to the run's
/// mailbox.
struct LandingQueue {
    private let mailbox: Mailbox<RunMessage>
    private let leases: FileLeases
    /// Landings that wait until their files have no reader, by the positions of their steps.
    private var landings: [Int: Landing] = [:]
    /// Sets that wait for the same.
    private var sets: [Int: (set: SetLanding, attempts: Int)] = [:]

    init(_ execution: Execution) { (mailbox, leases) = (execution.mailbox, execution.leases) }

    /// Whether a file may be promoted now; otherwise it waits for its readers, and for those of the
    /// orphan that it is renamed from.
    ///
    /// - Parameter held: the file that it waited for, which is this run's.
    mutating func mayBegin(
        _ landing: Landing, _ position: Int, holding held: Target? = nil
    ) -> Bool {
        let source = landing.renamedOrphan
        if source == nil, held == landing.target { return true }
        if source == nil, leases.acquireExclusiveIfFree(landing.target) { return true }
        let (mailbox, leases) = (mailbox, leases)
        let files = [landing.target] + [source].compactMap(\.self)
        let areFree = leases.acquireExclusive(files, holding: held) { target in
            let isHeard = mailbox.post(.isFree(position, target))
            if !isHeard { leases.releaseExclusive(target) }
        }
        if areFree { return true }
        landings[position] = landing
        if let held { leases.releaseExclusive(held) }
        return false
    }

    /// Takes the landing whose file was given to this run; nil, and the file is given back, where none
    /// waits.
    mutating func take(_ position: Int, _ target: Target, isOver: Bool) -> Landing? {
        if let landing = landings.removeValue(forKey: position), !isOver { return landing }
        leases.releaseExclusive(target)
        return nil
    }

    /// What becomes of a set that is to be promoted.
    enum SetTurn {
        /// All of its files are this run's.
        case begins
        /// It waits until a file has no reader.
        case waits
        /// There was no moment without a reader, however often it tried.
        case neverComes(SetResult)
    }

    /// Whether a set may be promoted now; otherwise it waits for the readers of its files.
    ///
    /// - Parameters:
    ///   - held: the file that it waited for, which is this run's.
    ///   - attempts: how often it has waited.
    mutating func turn(
        of set: SetLanding, holding held: Target? = nil, attempts: Int = 0
    ) -> SetTurn {
        let (mailbox, leases) = (mailbox, leases)
        if let held, attempts >= SetLanding.mostAttempts {
            leases.releaseExclusive(held)
            return .neverComes(set.inUse(held))
        }
        let areFree = leases.acquireExclusive(set.targets, holding: held) { target in
            let isHeard = mailbox.post(.mayLandSet(set.number, target))
            if !isHeard { leases.releaseExclusive(target) }
        }
        if areFree { return .begins }
        sets[set.number] = (set, attempts + 1)
        if let held { leases.releaseExclusive(held) }
        return .waits
    }

    /// Takes the set that waited for a file which was given to this run; nil, and the file is given
    /// back, where none waits.
    mutating func takeSet(
        _ number: Int, _ target: Target, isOver: Bool
    ) -> (set: SetLanding, attempts: Int)? {
        if let waiting = sets.removeValue(forKey: number), !isOver { return waiting }
        leases.releaseExclusive(target)
        return nil
    }

    /// Gives a file back that a message brings which comes after the run's end.
    func giveBack(_ target: Target) { leases.releaseExclusive(target) }
}
