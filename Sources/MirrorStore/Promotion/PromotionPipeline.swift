internal import MirrorModel
internal import MirrorSystem

/// Batches on their way through the promotion, each a step behind the one before it.
///
/// A batch needs three flushes: of its bytes, of its names, and of its rows. Here one flush serves the
/// rows of one batch, the names of the next, and the bytes of the one after that; meanwhile another
/// batch writes its bytes. Each still goes through all steps in their order, and is told last.
struct PromotionPipeline {
    private let root: RootDirectory
    private let flush: DurableFlush
    /// The oldest first; no two wait for the same.
    private var batches: [PromotionBatch] = []
    /// A batch that is about to join them.
    private var next: PromotionBatch?
    /// Started when a flush first has company.
    private var flushes: FlushThread?

    init(root: RootDirectory, flush: DurableFlush) {
        self.root = root
        self.flush = flush
    }

    /// Whether nothing waits for the disk.
    var isEmpty: Bool { batches.isEmpty }

    /// Works that do not know yet how they ended.
    var untold: [PromotionWork] { batches.flatMap(\.untold) + (next?.untold ?? []) }

    /// Takes another batch in, and carries the others a step further. Throws what ends all of them.
    mutating func add(_ batch: PromotionBatch) throws(PromotionFault) {
        next = batch
        if batch.standsAlone { try finish() }
        try advance(withNext: true)
        if batch.standsAlone { try finish() }
    }

    /// Carries each batch a step further.
    mutating func advance() throws(PromotionFault) { try advance(withNext: false) }

    /// Carries all batches to their ends.
    mutating func finish() throws(PromotionFault) {
        while !batches.isEmpty { try advance(withNext: false) }
    }

    /// Forgets the batches, and ends what helped them.
    mutating func end() {
        (batches, next) = ([], nil)
        flushes?.stop()
        flushes = nil
    }

    private mutating func advance(withNext: Bool) throws(PromotionFault) {
        let isLast = batches.allSatisfy { $0.waitsFor == .rows }
        // Folders that are made from here on wait for the next flush.
        let made = isLast ? [] : root.takeUnflushedFolders()
        let isShared = batches.contains { batch in
            batch.waitsFor.map { batch.sharesFlush($0) } ?? false
        }
        if isShared { try flushShared(withNext: withNext) } else if withNext { try next?.begin() }
        do throws(Errno) {
            try flush.flush(made, besideGroup: isShared)
            for at in batches.indices {
                guard let awaited = batches[at].waitsFor else { continue }
                try batches[at].flushRest(awaited, afterShared: isShared)
            }
        } catch { throw .unflushed(error) }
        for at in batches.indices { try batches[at].goOn() }
        batches.removeAll { $0.waitsFor == nil }
        if withNext, let begun = next.take() { batches.append(begun) }
    }

    /// Flushes the whole file system, while the next batch writes its bytes.
    private mutating func flushShared(withNext: Bool) throws(PromotionFault) {
        let flush = flush
        if withNext, flushes == nil {
            flushes = try? FlushThread { () throws(Errno) in try flush.flushGroup() }
        }
        if withNext, let flushes {
            return try flushes.flush { () throws(PromotionFault) in try next?.begin() }
        }
        do throws(Errno) { try flush.flushGroup() } catch { throw .unflushed(error) }
        if withNext { try next?.begin() }
    }
}
