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
    private let heldByCaller: [FileLease]
    /// Landings that wait until their files have no reader, by the positions of their steps.
    private var landings: [Int: Landing] = [:]
    /// Sets that wait for the same.
    private var sets: [Int: (set: SetLanding, attempts: Int)] = [:]

    init(_ execution: Execution) {
        (mailbox, leases) = (execution.mailbox, execution.leases)
        heldByCaller = execution.heldByCaller
    }

    /// What becomes of a landing, or of a set, that is to be promoted.
    enum Turn {
        /// All of its files are this run's.
        case begins
        /// It waits until a file has no reader.
        case waits
        /// It would wait for ever.
        case neverComes(MirrorError)
    }

    /// Whether a file may be promoted now; otherwise it waits for its readers, and for those of the
    /// orphan that it is renamed from.
    ///
    /// - Parameter held: the file that it waited for, which is this run's.
    mutating func turn(
        of landing: Landing, _ position: Int, holding held: Target? = nil
    ) -> Turn {
        let source = landing.renamedOrphan
        if source == nil, held == landing.target { return .begins }
        if source == nil, leases.acquireExclusiveIfFree(landing.target) { return .begins }
        let (mailbox, leases) = (mailbox, leases)
        let files = [landing.target] + [source].compactMap(\.self)
        if let error = refusal(of: files) {
            if let held { leases.releaseExclusive(held) }
            return .neverComes(error)
        }
        let areFree = leases.acquireExclusive(files, holding: held) { target in
            let isHeard = mailbox.post(.isFree(position, target))
            if !isHeard { leases.releaseExclusive(target) }
        }
        if areFree { return .begins }
        landings[position] = landing
        if let held { leases.releaseExclusive(held) }
        return .waits
    }

    /// The caller may hold one of these files while it waits for the run, and would never give it back.
    private func refusal(of files: [Target]) -> MirrorError? {
        leases.first(of: files, under: heldByCaller).map { .heldByCaller($0) }
    }

    /// Takes the landing whose file was given to this run; nil, and the file is given back, where none
    /// waits.
    mutating func take(_ position: Int, _ target: Target, isOver: Bool) -> Landing? {
        if let landing = landings.removeValue(forKey: position), !isOver { return landing }
        leases.releaseExclusive(target)
        return nil
    }

    /// Whether a set may be promoted now; otherwise it waits for the readers of its files.
    ///
    /// - Parameters:
    ///   - held: the file that it waited for, which is this run's.
    ///   - attempts: how often it has waited.
    mutating func turn(
        of set: SetLanding, holding held: Target? = nil, attempts: Int = 0
    ) -> Turn {
        let (mailbox, leases) = (mailbox, leases)
        if let held, attempts >= SetLanding.mostAttempts {
            leases.releaseExclusive(held)
            return .neverComes(.alwaysInUse(held))
        }
        if let error = refusal(of: set.targets) {
            if let held { leases.releaseExclusive(held) }
            return .neverComes(error)
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

extension MirrorError {
    /// The error for a file that the program reads while it asks for the run that would change it.
    static func heldByCaller(_ target: Target) -> MirrorError {
        MirrorError(
            .locked,
            "\(target): it is read where this run was asked for, so it was kept. Run again after the reading.",
            target: target)
    }

    /// The error for a set of which some file was always in use.
    fileprivate static func alwaysInUse(_ target: Target) -> MirrorError {
        MirrorError(
            .locked,
            "\(target): this program reads files of the manifest all the time, so there was no moment to replace or remove it. Run again.",
            target: target)
    }
}
