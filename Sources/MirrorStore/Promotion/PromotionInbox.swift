internal import MirrorModel

/// What waits for the promotion thread, and when it has waited long enough.
///
/// A batch closes when it is full, when its bytes in memory are many, 200 ms after its first work, or
/// when somebody says that nothing more will come. While batches wait for the disk the next one fills.
struct PromotionInbox {
    /// Bytes in memory that close a batch.
    static let bytesPerBatch = 32 << 20
    /// How long the first work of a batch waits for company.
    static let patience = Duration.milliseconds(200)

    /// What the thread does next.
    enum Decision {
        case promote([PromotionWork])
        /// Carries what waits for the disk a step further.
        case advance
        /// Sleeps until a wake-up, for at most this many milliseconds; -1 is without a limit.
        case wait(milliseconds: Int32)
        case end
    }

    /// Whether there is a thread.
    var hasBegun = false
    /// Whether what waits need not wait for more.
    var isHurried = false
    /// Whether the thread ends when nothing waits.
    var isStopping = false
    /// Whether what waits is dropped when the thread is to end.
    var abandonsAtStop = false
    /// Who waits for the end.
    var waiters: [CheckedContinuation<Void, Never>] = []
    private(set) var hasEnded = false
    private var poison: MirrorError?
    private var works: [PromotionWork] = []
    private var bytes = 0
    /// How many of the works are sets, which are promoted one by one.
    private var sets = 0
    private var firstAt: ContinuousClock.Instant?

    /// Why new works are refused; nil when they are not.
    var refusal: MirrorError? {
        if let poison { return poison }
        return isStopping ? MirrorError(.cancelled, "The run has ended.") : nil
    }

    /// Takes a work in; says whether there is something new to decide.
    mutating func add(
        _ work: PromotionWork, at now: ContinuousClock.Instant, greatest: Int
    ) -> Bool {
        let isFirst = works.isEmpty
        if isFirst { firstAt = now }
        works.append(work)
        bytes += work.bytesInMemory
        if work.set != nil { sets += 1 }
        return isFirst || isFull(greatest)
    }

    private func isFull(_ greatest: Int) -> Bool {
        works.count >= greatest || bytes >= PromotionInbox.bytesPerBatch || sets > 0
    }

    /// Decides what the thread does next, and hands over a batch that is due. `isBusy` says that earlier
    /// batches wait for the disk.
    mutating func next(
        at now: ContinuousClock.Instant, greatest: Int, isBusy: Bool
    ) -> Decision {
        if isStopping, abandonsAtStop { return isBusy ? .advance : .end }
        guard let firstAt else {
            isHurried = false
            if isBusy { return .advance }
            return isStopping ? .end : .wait(milliseconds: -1)
        }
        let left = now.duration(to: firstAt.advanced(by: PromotionInbox.patience))
        let isDue = isFull(greatest) || isHurried || isStopping || left <= .zero
        guard isDue else {
            if isBusy { return .advance }
            // Rounded up: to wake a moment too early would spin.
            return .wait(milliseconds: Int32(left / .milliseconds(1)) + 1)
        }
        var batch = Array(works.prefix(greatest))
        if sets > 0, let set = batch.firstIndex(where: { $0.set != nil }) {
            // A set has the tree for itself.
            if set == 0, isBusy { return .advance }
            batch = Array(batch.prefix(max(set, 1)))
            if set == 0 { sets -= 1 }
        }
        works.removeFirst(batch.count)
        bytes -= batch.reduce(0) { $0 + $1.bytesInMemory }
        self.firstAt = works.isEmpty ? nil : firstAt
        if works.isEmpty { isHurried = false }
        return .promote(batch)
    }

    /// Refuses all later works; returns those that waited.
    mutating func refuse(_ error: MirrorError) -> [PromotionWork] {
        poison = poison ?? error
        defer { (works, bytes, sets, firstAt) = ([], 0, 0, nil) }
        return works
    }

    /// Notes that the thread ends; returns the callers that waited for it, and the dropped works.
    mutating func end() -> (
        waiters: [CheckedContinuation<Void, Never>], dropped: [PromotionWork]
    ) {
        hasEnded = true
        defer { (waiters, works, bytes, sets, firstAt) = ([], [], 0, 0, nil) }
        return (waiters, works)
    }
}
