/// A verified body on its way to its final name.
///
/// It is a class because many functions pass it on, and a copy would count a reference for each of
/// its texts.
package final class Promotion: Sendable {
    /// Where it belongs.
    package let target: Target
    /// The bytes: in memory, a part in `tmp/`, or a file of the tree to copy from.
    package let content: Content
    /// The row that is written when it is there. Its stamp has the verified size; the rest of the
    /// stamp is filled in by the promotion.
    package let record: IndexRecord
    /// The file at the target when the plan was made; any other file found there now is a conflict.
    package let expected: ExpectedFile
    /// The modification time that the file gets, in seconds since the Unix epoch.
    package let modified: Int64
    /// Whether the mode is 0755 instead of 0644.
    package let isExecutable: Bool
    /// The treatment of bytes that mirror did not put there.
    package let onConflict: ConflictPolicy
    /// What the target is remembered by from now on; nil where the manifest gives the name.
    package let serverName: ServerNameKey?

    package init(
        target: Target, content: Content, record: IndexRecord, expected: ExpectedFile,
        modified: Int64, isExecutable: Bool, onConflict: ConflictPolicy,
        serverName: ServerNameKey? = nil
    ) {
        self.target = target
        self.content = content
        self.record = record
        self.expected = expected
        self.modified = modified
        self.isExecutable = isExecutable
        self.onConflict = onConflict
        self.serverName = serverName
    }

    /// The orphan that is renamed to the target; nil for any other content.
    package var renamedOrphan: Target? {
        if case .move(let orphan) = content { orphan } else { nil }
    }

    /// The bytes that wait in memory for it.
    package var bytesInMemory: Int {
        if case .memory(let bytes) = content { return bytes.count }
        return 0
    }

    /// The row once the file is at its final name.
    package func record(stamp: FileStamp) -> IndexRecord {
        var record = record
        record.stamp = stamp
        return record
    }

    package enum Content: Sendable, Hashable {
        case memory([UInt8])
        /// A part by its file name, and the stamp that its file had when its bytes were verified.
        case part(String, FileStamp)
        /// Bytes that are elsewhere in the tree (or at a `file:` source that is inside it): reflink,
        /// else copy; the sha256 is computed from the copy and must be the record's.
        case copy(of: Target)
        /// A part of another target, by its file name, and its stamp when its bytes were verified.
        case copyOfPart(String, FileStamp)
        /// An unchanged orphan that is renamed.
        case move(of: Target)
    }

    package enum ExpectedFile: Sendable, Hashable {
        case nothing
        /// The version that the index says mirror put there, with its stamp as last seen.
        case ours(FileStamp)
        /// Other bytes, to be treated as the conflict policy says.
        case foreign(FileStamp)
    }
}

/// How a promotion ended.
package enum PromotionResult: Sendable {
    /// The file is at its final name, on the disk, and in the index, with the stamp that it has there.
    case promoted(Promotion, FileStamp, conflict: Target?)
    /// Nothing changed at the final name.
    indirect case failed(MirrorError)
}

/// A row for a file that stays as it is.
///
/// A class for the reason that `Promotion` is one.
package final class Confirmed: Sendable {
    /// The row as it will be; where its source only confirmed it, as it was.
    private let row: IndexRecord
    /// When its source confirmed it, and until when that holds, where the row learns nothing else.
    package let again: (at: Instant, freshUntil: Instant?)?
    /// Whether the file gets its row now, since it was found with the wanted bytes.
    package let isAdoption: Bool
    /// Whether another program rewrote or touched the file, and it still holds the same bytes.
    package let isRewritten: Bool
    /// The permissions that the file is given, where the manifest's wish changed.
    package let mode: UInt32?
    /// What the target is remembered by from now on; nil where the manifest gives the name, and
    /// where the row learns nothing but times.
    package let serverName: ServerNameKey?
    /// The stamp that the file had when the plan was made; nil where that is its row's.
    private let planned: FileStamp?

    package init(
        _ row: IndexRecord, again: (at: Instant, freshUntil: Instant?)? = nil,
        isAdoption: Bool = false, isRewritten: Bool = false, mode: UInt32? = nil,
        serverName: ServerNameKey? = nil, planned: FileStamp? = nil
    ) {
        self.row = row
        self.again = again
        self.planned = planned
        self.isAdoption = isAdoption
        self.isRewritten = isRewritten
        self.mode = mode
        self.serverName = serverName
    }

    /// The stamp that the file must have when its row is written.
    ///
    /// The file may change or vanish while the run asks its source. For an edited file this is the
    /// planned stamp, because its row has another.
    package var seen: FileStamp { planned ?? row.stamp }

    /// Whether the row only learns once more what it says. Where that is lost, the source is asked again, and
    /// no later than it would be.
    package var isRepetition: Bool {
        guard let again else { return false }
        guard let earlier = row.freshUntil else { return true }
        return again.freshUntil.map { $0 >= earlier } ?? false
    }

    /// Whether others wrote the file, so that it must be flushed before its row is written.
    package var isOfOthers: Bool { isAdoption || isRewritten }

    /// The row as it will be.
    package var record: IndexRecord {
        guard let again else { return row }
        var record = row
        record.confirmedAt = again.at
        record.freshUntil = again.freshUntil
        return record
    }

    /// The target.
    package var target: Target { row.target }
}

/// A file to be removed.
package final class Removal: Sendable {
    /// The file.
    package let target: Target
    /// Its stamp when the removal was decided; if the stamp differs, the bytes are compared with the row.
    package let stamp: FileStamp?

    /// Takes the file and its stamp.
    package init(target: Target, stamp: FileStamp?) {
        self.target = target
        self.stamp = stamp
    }
}

extension Step {
    /// What happens with a verified body of a digest: the file stays as it is, inode and times
    /// included, or the body gets the final name.
    ///
    /// An earlier fetch of a part of the body changes only the outcome's name.
    package func arrival(
        of sha256: Digest, validators: Validators, wasResumed: Bool
    ) -> (stays: Bool, outcome: Outcome, reason: Reason) {
        switch existing {
        case .ours(_, sha256), .foreign(_, .some(sha256)):
            return (true, .unchanged, .sameBytes)
        case .foreign:
            if kind == .edited, local?.sha256 == sha256 { return (true, .edited, .sameBytes) }
            return (false, .conflict, kind == .edited ? .editedAndChanged : reason)
        case .nothing, .ours, .recorded, .drifted, .obstacle:
            return (false, outcome(wasResumed: wasResumed), reason(of: validators))
        }
    }

    private func outcome(wasResumed: Bool) -> Outcome {
        switch kind {
        case .update, .revalidate: .updated
        case .repair: .repaired
        case .conflict, .edited: .conflict
        case .copy: .copied
        case .move: .moved
        case .resume, .evicted, .fetch, .keep, .remove: wasResumed ? .resumed : .fetched
        }
    }

    /// For an unpinned file, the answer says more than the plan could.
    private func reason(of validators: Validators) -> Reason {
        guard kind == .revalidate else { return reason }
        if let old = local?.validators.entityTag, let new = validators.entityTag, old != new {
            return .entityTagChanged(from: old, to: new)
        }
        return .bytesChanged
    }
}

extension Step {
    /// The version that a conditional request is about.
    public var local: LocalVersion? { decision.local }

    /// The part that a transfer continues.
    public var part: PartRecord? {
        guard decision.hasPart, case .transfer(let part, _) = means else { return nil }
        return part
    }
}

/// Everything that one set promotes: files that get their final names, and orphans that go after them.
///
/// The promotion carries all of it out under one journal, or leaves the tree as it is.
package final class SetContents: Sendable {
    /// The set's number in the plan.
    package let number: Int
    /// The set.
    package let set: AtomicSets.Entry
    /// The files, each with the position of its step, in the order of their targets.
    package let promotions: [(position: Int, promotion: Promotion)]
    /// The orphans, each with the position of its step; nil where another step took its bytes over.
    package let removals: [(position: Int?, removal: Removal)]

    package init(
        number: Int, set: AtomicSets.Entry, promotions: [(position: Int, promotion: Promotion)],
        removals: [(position: Int?, removal: Removal)]
    ) {
        self.number = number
        self.set = set
        self.promotions = promotions
        self.removals = removals
    }

    /// The files that it replaces or removes; none may have a reader during the promotion.
    package var targets: [Target] {
        promotions.map(\.promotion.target) + removals.map(\.removal.target)
    }

    /// How often a set waits for a file that is read before it is left to the next run: where some file
    /// is always read, it would wait for ever.
    package static let mostAttempts = 1000

    /// The result of a promotion that one file kept from beginning, the error's target.
    package func left(because error: MirrorError) -> SetResult {
        let position =
            promotions.first { $0.promotion.target == error.target }?.position
            ?? removals.first { $0.removal.target == error.target }?.position
        return position.map { .left([$0: error]) } ?? refused(error)
    }

    /// The result of a promotion that was refused before it began.
    package func refused(_ error: MirrorError) -> SetResult {
        let positions = promotions.map(\.position) + removals.compactMap(\.position)
        return .left(Dictionary(uniqueKeysWithValues: positions.map { ($0, error) }))
    }
}

/// How the promotion of a set ended.
package indirect enum SetResult: Sendable {
    /// The tree is as it was, because of these steps.
    case left([Int: MirrorError])
    /// The promotion began, and this stopped it: the next run carries the journal out.
    case unfinished(MirrorError)
    /// The journal was carried out: how each file promoted, and which orphans stayed.
    case promoted(Promoted)

    /// What became of the steps of a set that was promoted.
    package struct Promoted: Sendable {
        /// How each file promoted.
        package var files: [Int: PromotionResult]
        /// Which orphans stayed, and why.
        package var stayed: [Int: MirrorError]
        package var way: Event.SetEnd.Way
        /// Paths of files that were changed during the promotion and did not get their names back.
        package var kept: [String]

        package init(
            files: [Int: PromotionResult], stayed: [Int: MirrorError] = [:],
            way: Event.SetEnd.Way, kept: [String] = []
        ) {
            self.files = files
            self.stayed = stayed
            self.way = way
            self.kept = kept
        }
    }
}
