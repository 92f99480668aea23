/// One task of the promotion thread, and the receiver of its result.
struct PromotionWork: Sendable {
    enum Task: Sendable {
        /// Gives verified bytes their final name.
        case promote(Promotion)
        /// Gives all files of a set their final names, or none.
        case promoteSet(SetContents)
        /// Changes a row and not the file: after a 304, or if the file's bytes were found to be
        /// right.
        case confirm(Confirmed)
        /// A file that mirror put there, unchanged since, is removed with its row.
        case remove(Removal)
    }

    let task: Task
    /// The number by which the receiver knows the work.
    let number: Int
    let receiver: any PromotionReceiver

    /// How many bytes wait in memory for this work.
    var bytesInMemory: Int {
        if case .promote(let promotion) = task { return promotion.bytesInMemory }
        return 0
    }

    /// The set that the work promotes. `nil` means that the work is for one file.
    var set: SetContents? {
        if case .promoteSet(let set) = task { return set }
        return nil
    }

    /// The files that the receiver has locked for this work.
    var lockedTargets: [Target] {
        switch task {
        case .promote(let promotion):
            [promotion.target, promotion.renamedOrphan].compactMap(\.self)
        case .promoteSet(let set): set.targets
        case .remove(let removal): [removal.target]
        case .confirm: []
        }
    }

    /// Returns the result of this work after an error.
    func failed(_ error: MirrorError) -> RunInput {
        switch task {
        case .promote: .promoted(number, .failed(error))
        case .promoteSet(let set): .setEnded(number, set.refused(error))
        case .confirm: .confirmed(number, error)
        case .remove: .removed(number, error)
        }
    }
}

/// Receives the results of works, on the promotion thread. An implementation must return quickly.
protocol PromotionReceiver: AnyObject, Sendable {
    /// Receives works and their results. Everything that these works did is on the disk.
    func promoted(_ works: [PromotionWork], _ results: [RunInput])
}

/// Collects the results of works, and delivers them together to each receiver.
struct PromotionReports {
    private var reports: [(works: [PromotionWork], results: [RunInput])] = []

    mutating func add(_ result: RunInput, of work: PromotionWork) {
        if let last = reports.indices.last, reports[last].works[0].receiver === work.receiver {
            reports[last].works.append(work)
            reports[last].results.append(result)
        } else {
            reports.append(([work], [result]))
        }
    }

    func deliver() {
        for report in reports { report.works[0].receiver.promoted(report.works, report.results) }
    }
}

/// Why a promotion, or a whole batch, did not go through.
enum PromotionError: Error {
    /// A file's promotion failed, and the others of its batch go on; or a step of the batch failed.
    case failed(MirrorError)
    /// A flush failed. Bytes since the last good flush cannot be trusted, and no flush is tried
    /// again.
    case unflushed(Errno)
    /// A test stopped the promotion here, as a power cut would.
    case stopped

    /// Converts an error that stopped a promotion which can no longer be undone.
    init(_ error: any Error, at target: Target? = nil, with index: Index) {
        switch error {
        case let fault as PromotionError: self = fault
        case let error as Errno: self = .failed(MirrorError(error, target: target))
        case IndexError.unflushed(let error): self = .unflushed(error)
        case let error as IndexError: self = .failed(error.mirrorError(in: index.place))
        default:
            let place = target?.path ?? "A set"
            self = .failed(MirrorError(.internalError, "\(place): \(error)", target: target))
        }
    }

    /// The error for a target whose name is taken by an entry that is no file.
    static func obstructed(_ target: Target, _ there: FileStatus) -> PromotionError {
        let kind = there.kind?.rawValue ?? "file"
        return .failed(
            MirrorError(
                .obstructed, "\(target): a \(kind) is in the way. Move it away.", target: target))
    }

    /// The error for a file of another program that must stay at the target.
    static func kept(_ target: Target) -> PromotionError {
        .failed(
            MirrorError(
                .conflict,
                "\(target): the file there is not one that mirror put there. It was kept.",
                target: target, remedy: Remedy(.renameConflicts)))
    }
}

extension MirrorError {
    /// The error for bytes to promote that changed after they were checked.
    static func changed(_ path: String, for target: Target) -> MirrorError {
        MirrorError(
            .sourceChanged, "\(target): \(path) changed after it was looked at. Run again.",
            target: target)
    }
}

/// The steps that a batch reaches. Tests simulate a power cut at each.
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
    /// The new folder of a set is in place of the old one. The old one is not checked yet.
    case exchangedFolder
    /// The existing file has a second name, because names cannot be exchanged.
    case setAside
    /// A target and its staged name were exchanged. The old file is not checked yet.
    case exchanged
    /// All targets have their bytes.
    case placed
    /// The folders are on the disk.
    case flushedNames
    /// Files that are no longer needed are removed.
    case cleaned
    /// The rows are written and durable. No receiver has its result yet.
    case indexed
}

/// Points at which tests change a promotion. In a run they do nothing.
struct PromotionProbe: Sendable {
    /// Called after a step. If it returns false, everything ends there, as after a power cut.
    var goesOn: @Sendable (PromotionStep) -> Bool = { _ in true }
    /// Whether names may be exchanged. `false` simulates a file system that cannot.
    var allowsExchange = true
    /// Whether files may be made without a name. `false` simulates a file system that cannot.
    var allowsUnnamedFiles = true
    /// Returns the error with which the next flush fails. `nil` means that the flush is made.
    var flushError: @Sendable () -> Errno? = { nil }
    /// Returns the error with which the check of a placed target fails. `nil` means no error.
    var lookError: @Sendable () -> Errno? = { nil }
}
