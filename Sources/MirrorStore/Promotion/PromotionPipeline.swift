internal import MirrorModel
internal import MirrorSystem

/// Batches on their way through the promotion, each behind the one before it.
///
/// A batch needs three flushes: of its bytes, of its names, and of its rows. Here one flush serves the
/// rows of one batch, the names of another, and the bytes of a third. Meanwhile those go a step further
/// whose flush has ended, and another batch writes its bytes: what they do waits for the next flush. Each
/// still goes through all steps in their order, and is told last.
struct PromotionPipeline {
    private let environment: PromotionEnvironment
    /// The oldest first; no two wait for the same flush of the same kind.
    private var batches: [PromotionBatch] = []
    /// A batch that waits for their ends, because it stands alone.
    private var newcomer: PromotionBatch?
    /// A batch that is about to join them.
    private var next: PromotionBatch?
    /// Started when a flush first has company.
    private var flushes: FlushThread?

    init(in environment: PromotionEnvironment) { self.environment = environment }

    /// Whether nothing waits for the disk.
    var isEmpty: Bool { batches.isEmpty }

    /// Works that do not know yet how they ended.
    var untold: [PromotionWork] {
        batches.flatMap(\.untold) + (newcomer?.untold ?? []) + (next?.untold ?? [])
    }

    /// Takes another batch in, and carries the others a step further. Throws what ends all of them.
    mutating func add(_ batch: PromotionBatch) throws(PromotionFault) {
        newcomer = batch
        if batch.standsAlone { try finish() }
        next = newcomer.take()
        try advance()
        if batch.standsAlone { try finish() }
    }

    /// Carries all batches to their ends.
    mutating func finish() throws(PromotionFault) {
        while !batches.isEmpty { try advance() }
    }

    /// Forgets the batches, and ends what helped them.
    mutating func end() {
        (batches, newcomer, next) = ([], nil, nil)
        flushes?.stop()
        flushes = nil
    }

    /// Carries each batch a step further.
    mutating func advance() throws(PromotionFault) {
        let waiting = batches.indices.filter { !batches[$0].isFlushed }
        let isLast = waiting.allSatisfy { batches[$0].waitsFor == .rows }
        // Folders that are made from here on wait for the next flush.
        let made = isLast ? [] : environment.root.takeUnflushedFolders()
        let isShared = waiting.contains { batches[$0].sharesFlush }
        if isShared { try flushShared() } else { try work() }
        do throws(Errno) {
            try environment.flush.flush(made, besideGroup: isShared)
            for at in waiting { try batches[at].flushRest(afterShared: isShared) }
        } catch { throw .unflushed(error) }
        batches.removeAll { $0.waitsFor == nil }
        if let begun = next.take() { batches.append(begun) }
    }

    /// What can be done while a flush is under way, and is made last by the next one: those go on whose
    /// flush has ended, and another batch begins.
    private mutating func work() throws(PromotionFault) {
        for at in batches.indices where batches[at].isFlushed { try batches[at].goOn() }
        try next?.begin()
    }

    /// Whether there is work beside a flush.
    private var hasWork: Bool { next != nil || batches.contains(where: \.isFlushed) }

    /// Flushes the whole file system, with work beside it.
    private mutating func flushShared() throws(PromotionFault) {
        let flush = environment.flush
        if hasWork, flushes == nil {
            flushes = try? FlushThread { () throws(Errno) in try flush.flushGroup() }
        }
        if hasWork, let flushes {
            return try flushes.flush { () throws(PromotionFault) in try work() }
        }
        do throws(Errno) { try flush.flushGroup() } catch { throw .unflushed(error) }
        try work()
    }
}
