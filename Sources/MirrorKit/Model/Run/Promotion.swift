/// A verified body on its way to its final name.
///
/// It is a class because many functions pass it on, and a copy would count a reference for each of
/// its texts.
final class Promotion: Sendable {
    /// The target that the file is for.
    let target: Target
    /// The bytes: in memory, a part in `tmp/`, or a file of the tree to copy from.
    let content: Content
    /// The row that the promotion writes once the file has its final name.
    ///
    /// The row's stamp has the verified size. The promotion fills in the rest of the stamp.
    let record: IndexRecord
    /// The file at the target when the plan was made. Any other file there now is a conflict.
    let expected: ExpectedFile
    /// The modification time that the file gets, in seconds since the Unix epoch.
    let modified: Int64
    /// Whether the file gets the mode 0755 instead of 0644.
    let isExecutable: Bool
    /// The treatment of bytes at the target that mirror did not put there.
    let onConflict: ConflictPolicy
    /// The key under which the index remembers the name that the server chose.
    ///
    /// `nil` means that the manifest gives the name.
    let serverName: ServerNameKey?

    init(
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

    /// The orphan that the promotion renames to the target. `nil` for any other content.
    var renamedOrphan: Target? {
        if case .move(let orphan) = content { orphan } else { nil }
    }

    /// The number of bytes that wait in memory for the promotion.
    var bytesInMemory: Int {
        if case .memory(let bytes) = content { return bytes.count }
        return 0
    }

    /// Returns the row with the stamp that the file has at its final name.
    func record(stamp: FileStamp) -> IndexRecord {
        var record = record
        record.stamp = stamp
        return record
    }

    enum Content: Sendable, Hashable {
        case memory([UInt8])
        /// A part: its file name in `tmp/`, and its stamp when its bytes were verified.
        case part(String, FileStamp)
        /// Bytes of another file of the tree, or of a `file:` source inside the tree.
        ///
        /// The promotion makes a reflink, or else a copy. It computes the copy's sha256, which must
        /// be the record's.
        case copy(of: Target)
        /// A part of another target: its file name in `tmp/`, and its stamp when it was verified.
        case copyOfPart(String, FileStamp)
        /// An unchanged orphan, which the promotion renames.
        case move(of: Target)
    }

    enum ExpectedFile: Sendable, Hashable {
        case nothing
        /// The version that mirror put there, by the index, with the file's stamp as last seen.
        case ours(FileStamp)
        /// Bytes that mirror did not put there. The conflict policy decides about them.
        case foreign(FileStamp)
    }
}

/// How a promotion ended.
enum PromotionResult: Sendable {
    /// The file has its final name, on the disk and in the index, with this stamp.
    ///
    /// `conflict` is the conflict copy of the file that was at the target, if there is one.
    case promoted(Promotion, FileStamp, conflict: Target?)
    /// The promotion failed, and the file at the target is as it was.
    indirect case failed(MirrorError)
}

/// A row for a file that stays as it is.
///
/// It is a class because many functions pass it on.
final class Confirmed: Sendable {
    /// The row to write. If the source only confirmed the file, the row that the index has.
    private let row: IndexRecord
    /// When the source confirmed the file, and until when its answer is fresh.
    ///
    /// `nil` means that the row changes in more than these times.
    let again: (at: Instant, freshUntil: Instant?)?
    /// Whether the file was found with the wanted bytes, and so gets a row of them now.
    let isAdoption: Bool
    /// Whether another program rewrote or touched the file, which still holds the same bytes.
    let isRewritten: Bool
    /// The file's new permissions. `nil` means that they stay as they are.
    let mode: UInt32?
    /// The key under which the index remembers the name that the server chose.
    ///
    /// `nil` means that the manifest gives the name, or that the row changes in times only.
    let serverName: ServerNameKey?
    /// The file's stamp when the plan was made. `nil` means that `row` has this stamp.
    private let planned: FileStamp?

    init(
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
    /// planned stamp, because the row has another stamp.
    var seen: FileStamp { planned ?? row.stamp }

    /// Whether the row changes in its times only, and stays fresh at least as long as before.
    ///
    /// If a crash loses such a change, the next run asks the source again, no later than it would
    /// have.
    var isRepetition: Bool {
        guard let again else { return false }
        guard let earlier = row.freshUntil else { return true }
        return again.freshUntil.map { $0 >= earlier } ?? false
    }

    /// Whether another program wrote the file, so that it is flushed before its row is written.
    var isOfOthers: Bool { isAdoption || isRewritten }

    /// The row to write, with the times of the last confirmation.
    var record: IndexRecord {
        guard let again else { return row }
        var record = row
        record.confirmedAt = again.at
        record.freshUntil = again.freshUntil
        return record
    }

    /// The target.
    var target: Target { row.target }
}

/// A file that a run is to remove.
final class Removal: Sendable {
    /// The target of the file.
    let target: Target
    /// The file's stamp when the removal was decided.
    ///
    /// If the file now has another stamp, or this is nil, the promotion compares the bytes with the
    /// row.
    let stamp: FileStamp?

    /// Takes the target of the file and its stamp.
    init(target: Target, stamp: FileStamp?) {
        self.target = target
        self.stamp = stamp
    }
}

extension Step {
    /// Decides whether a verified body replaces the file at the target.
    ///
    /// `stays` means that the file stays as it is, with its inode and times; otherwise the body
    /// gets the final name. `wasResumed` changes only the outcome's name.
    func arrival(
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

    /// Returns why the bytes changed: for a file that was asked about, what the answer shows.
    ///
    /// For any other file, the plan has the reason.
    private func reason(of validators: Validators) -> Reason {
        guard kind == .revalidate else { return reason }
        if let old = local?.validators.entityTag, let new = validators.entityTag, old != new {
            return .entityTagChanged(from: old, to: new)
        }
        return .bytesChanged
    }
}

extension Step {
    /// The version that a conditional request is about. `nil` means that there is no such version.
    var local: LocalVersion? { decision.local }

    /// The part that a transfer continues. `nil` means that no part is continued.
    var part: PartRecord? {
        guard decision.hasPart, case .transfer(let part, _) = means else { return nil }
        return part
    }
}

/// All that one set promotes: files that get their final names, and orphans that are removed.
///
/// The promotion carries out all of these changes under one journal, or leaves the tree as it is.
final class SetContents: Sendable {
    /// The set's number in the plan.
    let number: Int
    /// The set.
    let set: AtomicSets.Entry
    /// The files, each with the position of its step, in the order of their targets.
    let promotions: [(position: Int, promotion: Promotion)]
    /// The orphans, each with its step's position. `nil` means that another step takes the bytes.
    let removals: [(position: Int?, removal: Removal)]

    init(
        number: Int, set: AtomicSets.Entry, promotions: [(position: Int, promotion: Promotion)],
        removals: [(position: Int?, removal: Removal)]
    ) {
        self.number = number
        self.set = set
        self.promotions = promotions
        self.removals = removals
    }

    /// The files that the set replaces or removes. None of them may have a reader at the promotion.
    var targets: [Target] {
        promotions.map(\.promotion.target) + removals.map(\.removal.target)
    }

    /// Returns the result of a promotion that one file, the error's target, kept from beginning.
    func left(because error: MirrorError) -> SetResult {
        let position =
            promotions.first { $0.promotion.target == error.target }?.position
            ?? removals.first { $0.removal.target == error.target }?.position
        return position.map { .left([$0: error]) } ?? refused(error)
    }

    /// Returns the result of a promotion that was refused before it began.
    func refused(_ error: MirrorError) -> SetResult {
        let positions = promotions.map(\.position) + removals.compactMap(\.position)
        return .left(Dictionary(uniqueKeysWithValues: positions.map { ($0, error) }))
    }
}

/// How the promotion of a set ended.
indirect enum SetResult: Sendable {
    /// The tree is as it was. The errors say why, by the positions of their steps.
    case left([Int: MirrorError])
    /// The promotion began, and the error stopped it. The next run carries the journal out.
    case unfinished(MirrorError)
    /// The journal was carried out.
    case promoted(Promoted)

    /// How the steps of a promoted set ended, by their positions.
    struct Promoted: Sendable {
        /// How the promotion of each file ended.
        var files: [Int: PromotionResult]
        /// Why orphans that should have been removed stayed.
        var stayed: [Int: MirrorError] = [:]
        var way: Event.SetEnd.Way
        /// Paths of files that other programs changed during the promotion.
        ///
        /// These files did not get their own names back, because the names were taken.
        var kept: [String] = []
    }
}

/// The key under which the index remembers the name that a server chose for a file.
///
/// It is a class to keep promotions small, because most of them have no such key.
final class ServerNameKey: Sendable {
    /// The manifest's name.
    let owner: String
    /// The folder that the manifest puts the file in.
    let folder: String
    /// The resource's primary source.
    let source: SourceURL

    init(owner: String, folder: String, source: SourceURL) {
        self.owner = owner
        self.folder = folder
        self.source = source
    }
}

extension Manifest {
    /// Returns the key for the name that a server chooses for a resource of this manifest.
    func serverNameKey(of resource: Resource) -> ServerNameKey {
        ServerNameKey(owner: owner, folder: resource.target.folder, source: resource.primary.url)
    }
}

extension Plan {
    /// Returns the key for the name of a step's file. Returns nil if the manifest gives the name.
    func serverNameKey(of step: Step) -> ServerNameKey? {
        guard isNamedByServer(step), let resource = resource(of: step) else { return nil }
        return manifests[step.manifest].serverNameKey(of: resource)
    }

    /// Returns the target of a received body whose name the manifest leaves to the server.
    ///
    /// The response's suggested name comes first, then the name in the URL.
    ///
    /// Throws `MirrorError` with `nameMissing` if neither gives a name, and with `obstructed` if
    /// the suggested name cannot be a target.
    func targetNamed(
        by body: ReceivedBody, for step: Step
    ) throws(MirrorError) -> Target {
        guard let url = resource(of: step)?.primary.url else { return step.target }
        guard let name = body.answer.suggestedName else {
            guard step.target.isProvisional(for: url) else { return step.target }
            throw MirrorError(
                .nameMissing,
                "\(step.target.folder)/: \(url) ends in no name, and the server gives none. Write the file's name in path.",
                target: step.target)
        }
        do {
            return try step.target.sibling(named: name)
        } catch {
            throw MirrorError(
                .obstructed,
                "\(step.target): the server suggests a name that cannot be a target: \(Quoted(name)). Give the resource a path with a name.",
                target: step.target)
        }
    }
}
