internal import MirrorModel
internal import MirrorSystem

/// One group of promotions, carried out in the one order that survives a power cut.
///
/// New bytes are written under names of mirror's own; the index records what is intended; bytes and
/// intents are flushed; files are renamed; folders are flushed; the index says so, and is flushed;
/// only then somebody is told. Many files share each flush, and so do the batches of a
/// `PromotionPipeline`.
struct PromotionBatch {
    private var group: PromotionGroup
    /// Works whose failure was told before the batch ended.
    private var told: Set<Int> = []
    /// What must be on the disk before its next step; nil when it has ended.
    private(set) var waitsFor: Awaited? = .bytes
    /// Whether that is on the disk.
    private(set) var isFlushed = false

    init(_ works: [PromotionWork], in environment: PromotionEnvironment) {
        group = PromotionGroup(works, in: environment)
    }

    /// Writes the new bytes and records what is intended.
    mutating func begin() throws(PromotionFault) {
        try stage()
        try group.reached(.staged)
        try group.intend()
        try group.reached(.intended)
    }

    /// Goes a step on, once what it waited for is on the disk; after the last one, each work has been
    /// told how it ended. Throws what ends every later batch too: then those of this batch that were
    /// not told have failed.
    mutating func goOn() throws(PromotionFault) {
        isFlushed = false
        switch waitsFor {
        case .bytes:
            try group.reached(.flushedBytes)
            try place()
            try group.reached(.placed)
            waitsFor = .names
        case .names:
            try group.reached(.flushedNames)
            group.cleanUp()
            try group.reached(.cleaned)
            try group.record()
            waitsFor = .rows
        case .rows:
            try group.reached(.indexed)
            tell()
            waitsFor = nil
        case nil: break
        }
    }

    /// Whether a flush of the whole file system gives it some of what it waits for.
    var sharesFlush: Bool { waitsFor.map(group.sharesFlush) ?? false }

    /// Flushes what a flush of the whole file system did not; then it can go on.
    mutating func flushRest(afterShared isShared: Bool) throws(Errno) {
        if let waitsFor { try group.flushRest(waitsFor, afterShared: isShared) }
        isFlushed = true
    }

    /// Whether nothing else may be under way beside it: what it moves, or what it empties a folder of, may
    /// be where another batch has begun.
    var standsAlone: Bool {
        group.works.contains { work in
            switch work.task {
            case .land(let landing): if case .move = landing.content { true } else { false }
            case .landSet, .remove: true
            case .confirm: false
            }
        }
    }

    /// Works that do not know yet how they ended.
    var untold: [PromotionWork] {
        if waitsFor == nil { return [] }
        return group.works.enumerated().filter { !told.contains($0.offset) }.map(\.element)
    }

    // In the order of submission: a copy is made before its source is removed. A failure is told at
    // once: when the disk is full, nothing more should be asked for meanwhile.
    private mutating func stage() throws(PromotionFault) {
        var staging = Staging(
            index: group.environment.index, groupDevice: group.groupDevice,
            unnamed: group.environment.unnamed)
        for at in group.works.indices {
            do throws(Errno) { try group.environment.flush.flushManyMadeFolders() } catch {
                throw .unflushed(error)
            }
            do throws(MirrorError) {
                switch group.works[at].task {
                case .land(let landing):
                    try group.stage(landing, at: at, by: &staging)
                case .confirm(let confirmed): try group.check(confirmed, at: at)
                case .remove(let removal): try group.remove(removal)
                case .landSet: break
                }
            } catch {
                group.fail(at, error)
                told.insert(at)
                group.works[at].receiver.promoted([group.works[at].failed(error)])
            }
        }
    }

    /// Gives everything its final name.
    private mutating func place() throws(PromotionFault) {
        let placement = group.placement
        for at in group.staged.indices {
            guard let item = group.staged[at] else { continue }
            let target = item.landing.target
            do { try group.place(item, placement) } catch let fault as PromotionFault {
                guard case .failed(let error) = fault else { throw fault }
                group.giveUp(at, error)
            } catch let error as Errno {
                group.giveUp(at, MirrorError(error, target: target))
            } catch let error as IndexError {
                group.giveUp(at, error.mirrorError)
            } catch {
                group.giveUp(at, MirrorError(.internalError, "\(target): \(error)", target: target))
            }
        }
    }

    /// Tells each work how it ended.
    private func tell() {
        var reports = PromotionReports()
        for at in group.works.indices {
            if let error = group.failures[at] {
                if !told.contains(at) {
                    reports.add(group.works[at].failed(error), for: group.works[at])
                }
                continue
            }
            let end: PromotionEnd.Result
            switch group.works[at].task {
            case .land(let landing):
                let placed = group.staged[at]?.placed
                let stamp = placed?.stamp ?? landing.record.stamp
                end = .landed(landing, .landed(landing, stamp, conflict: placed?.conflict))
            case .landSet: continue
            case .confirm: end = .confirmed
            case .remove: end = .removed(nil)
            }
            reports.add(PromotionEnd(group.works[at].number, end), for: group.works[at])
        }
        reports.deliver()
    }
}
