internal import Synchronization

/// What the errors of an index said about its state, so that the next run knows it, and this one does not
/// ask in vain.
///
/// The first error that looks like damage leaves a mark beside the database of a run that writes. A
/// lock that could not be had is final: each further question would wait as long as the first did.
struct IndexDamage: ~Copyable, Sendable {
    /// Where marks are left; nil for a reader, and for an index that is not on disk.
    private let file: IndexFile?
    private let wasNoted = Atomic<Bool>(false)
    private let wasProven = Atomic<Bool>(false)
    /// Why the index answers no more questions.
    private let lost = Mutex<IndexError?>(nil)

    init(markedBeside file: IndexFile?) { self.file = file }

    /// Whether an error showed damage, certain or not.
    var isSeen: Bool { wasNoted.load(ordering: .acquiring) }

    /// Whether damage is certain, so that the next run needs a new index.
    var isCertain: Bool { wasProven.load(ordering: .acquiring) }

    /// Whether the index can be asked.
    var isReachable: Bool { lost.withLock { $0 == nil } }

    /// Notes an error, and returns it.
    func noted(_ error: IndexError) -> IndexError {
        if error.isWithoutLock { lost.withLock { $0 = error } }
        guard error.damage != nil, let file else { return error }
        if !wasNoted.exchange(true, ordering: .acquiringAndReleasing) { file.put(.doubted) }
        if case .damaged = error, !wasProven.exchange(true, ordering: .acquiringAndReleasing) {
            file.put(.damaged)
        }
        return error
    }

    /// Throws what made the index unreachable.
    func refuseIfLost() throws(IndexError) {
        if let error = lost.withLock({ $0 }) { throw error }
    }
}
