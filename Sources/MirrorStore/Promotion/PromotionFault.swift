internal import MirrorModel
internal import MirrorSystem

/// Why a promotion, or a whole batch, did not go through.
enum PromotionFault: Error {
    /// A file's promotion failed, and the others of its batch go on; or a step of whole batches did.
    case failed(MirrorError)
    /// A flush failed: nothing since the last good one can be trusted, and none is tried again.
    case unflushed(Errno)
    /// A test pulled the plug here.
    case stopped

    /// What stopped a promotion that cannot be undone any more.
    init(_ error: any Error, at target: Target? = nil) {
        switch error {
        case let fault as PromotionFault: self = fault
        case let error as Errno: self = .failed(MirrorError(error, target: target))
        case IndexError.unflushed(let error): self = .unflushed(error)
        case let error as IndexError: self = .failed(error.mirrorError)
        default:
            let place = target?.path ?? "A set"
            self = .failed(MirrorError(.internalError, "\(place): \(error)", target: target))
        }
    }

    /// Something at the target that is no file.
    static func obstructed(_ target: Target, _ there: FileStatus) -> PromotionFault {
        let kind = there.kind?.rawValue ?? "file"
        return .failed(
            MirrorError(
                .obstructed, "\(target): a \(kind) is in the way. Move it away.", target: target))
    }

    /// Other people's bytes that are to stay.
    static func kept(_ target: Target) -> PromotionFault {
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

/// Where a batch has come to; tests pull the plug at each.
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
