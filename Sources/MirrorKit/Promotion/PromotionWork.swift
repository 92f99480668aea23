internal import MirrorModel
internal import MirrorSystem

/// One task of the promotion thread, and the receiver of its result.
struct PromotionWork: Sendable {
    enum Task: Sendable {
        /// Verified bytes get their final name.
        case promote(Promotion)
        /// A set gets its final names, all of it or nothing.
        case promoteSet(SetContents)
        /// A row changes and the file does not: a 304, or a file whose bytes were found to be right.
        case confirm(Confirmed)
        /// A file that mirror put there, unchanged since, goes with its row.
        case remove(Removal)
    }

    let task: Task
    /// What the receiver knows it by.
    let number: Int
    let receiver: any PromotionReceiver

    /// Takes a task, its number, and the receiver of its result.
    init(task: Task, number: Int, receiver: any PromotionReceiver) {
        self.task = task
        self.number = number
        self.receiver = receiver
    }

    /// The bytes that wait in memory for it.
    var bytesInMemory: Int {
        if case .promote(let promotion) = task { return promotion.bytesInMemory }
        return 0
    }

    /// The set that it promotes; nil for the work of one file.
    var set: SetContents? {
        if case .promoteSet(let set) = task { return set }
        return nil
    }

    /// How a work ended that did not succeed.
    func failed(_ error: MirrorError) -> PromotionEnd {
        switch task {
        case .promote(let promotion): PromotionEnd(number, .promoted(promotion, .failed(error)))
        case .promoteSet(let set): PromotionEnd(number, .set(set, set.refused(error)))
        case .confirm: PromotionEnd(number, .notConfirmed(error))
        case .remove: PromotionEnd(number, .removed(error))
        }
    }
}

/// Hears how works of the promotion ended, on that thread: it passes things on, and is quick.
protocol PromotionReceiver: AnyObject, Sendable {
    /// These works have ended; everything that they did is on the disk.
    func promoted(_ ends: [PromotionEnd])
}

/// How a work of the promotion ended.
struct PromotionEnd: Sendable {
    enum Result: Sendable {
        /// What became of a promotion.
        case promoted(Promotion, PromotionResult)
        case confirmed
        indirect case notConfirmed(MirrorError)
        indirect case removed(MirrorError?)
        /// What became of a set.
        case set(SetContents, SetResult)
    }

    let number: Int
    let result: Result

    init(_ number: Int, _ result: Result) {
        self.number = number
        self.result = result
    }
}

/// Ends of works on their way to their receivers, those of each together.
struct PromotionReports {
    private var reports: [(receiver: any PromotionReceiver, ends: [PromotionEnd])] = []

    mutating func add(_ end: PromotionEnd, for work: PromotionWork) {
        if let last = reports.indices.last, reports[last].receiver === work.receiver {
            reports[last].ends.append(end)
        } else {
            reports.append((work.receiver, [end]))
        }
    }

    func deliver() {
        for report in reports { report.receiver.promoted(report.ends) }
    }
}

/// Why a promotion, or a whole batch, did not go through.
enum PromotionError: Error {
    /// A file's promotion failed, and the others of its batch go on; or a step of whole batches did.
    case failed(MirrorError)
    /// A flush failed: nothing since the last good one can be trusted, and none is tried again.
    case unflushed(Errno)
    /// A test pulled the plug here.
    case stopped

    /// What stopped a promotion that cannot be undone any more.
    init(_ error: any Error, at target: Target? = nil) {
        switch error {
        case let fault as PromotionError: self = fault
        case let error as Errno: self = .failed(MirrorError(error, target: target))
        case IndexError.unflushed(let error): self = .unflushed(error)
        case let error as IndexError: self = .failed(error.mirrorError)
        default:
            let place = target?.path ?? "A set"
            self = .failed(MirrorError(.internalError, "\(place): \(error)", target: target))
        }
    }

    /// Something at the target that is no file.
    static func obstructed(_ target: Target, _ there: FileStatus) -> PromotionError {
        let kind = there.kind?.rawValue ?? "file"
        return .failed(
            MirrorError(
                .obstructed, "\(target): a \(kind) is in the way. Move it away.", target: target))
    }

    /// Other people's bytes that are to stay.
    static func kept(_ target: Target) -> PromotionError {
        .failed(
            MirrorError(
                .conflict,
                "\(target): the file there is not one that mirror put there. It was kept.",
                target: target, remedy: Remedy(.renameConflicts)))
    }
}

extension MirrorError {
    /// Bytes to promote that are no longer those that were looked at.
    static func changed(_ path: String, for target: Target) -> MirrorError {
        MirrorError(
            .sourceChanged, "\(target): \(path) changed after it was looked at. Run again.",
            target: target)
    }
}

/// The steps that a batch reaches; tests simulate a power cut at each.
enum PromotionStep: Sendable, CaseIterable {
    /// The new bytes are written under names of mirror's own.
    case staged
    /// The intents are in the index.
    case intended
    /// Bytes and intents are on the disk.
    case flushedBytes
    /// The new folder of a set is built beside the old one.
    case builtAside
    /// The journal of a set is committed, and on the disk.
    case committed
    /// The new folder of a set is in the place of the old one, which was not looked at yet.
    case exchangedFolder
    /// The existing file has a second name, because names cannot be exchanged.
    case setAside
    /// A target and its staged name were exchanged; the file that came out was not looked at yet.
    case exchanged
    /// All targets have their bytes.
    case placed
    /// The folders are on the disk.
    case flushedNames
    /// The file that came out was mirror's own, and is removed.
    case cleaned
    /// The rows are written and durable; no receiver was told.
    case indexed
}

/// Points where tests reach into a promotion; in a run they do nothing.
struct PromotionProbe: Sendable {
    /// Asked after a step; false ends everything there, as a power cut would.
    var goesOn: @Sendable (PromotionStep) -> Bool = { _ in true }
    /// Whether names may be exchanged; false is a file system that cannot.
    var allowsExchange = true
    /// Whether files may be made without a name; false is a file system that cannot.
    var allowsUnnamedFiles = true
    /// An error that the next flush of bytes, or of the whole file system, gives; nil flushes.
    var flushError: @Sendable () -> Errno? = { nil }
    /// An error that the look at a target gives once it has its new bytes; nil looks.
    var lookError: @Sendable () -> Errno? = { nil }
}
