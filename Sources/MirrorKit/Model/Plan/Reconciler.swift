/// Decides one step for each target by the first rule that holds.
///
/// A rule looks at the wanted resource, the row of the index, and the existing file.
///
/// The order of the rules is that of `step(for:now:)`: obstacles, right files, files of the user,
/// outdated files, and last missing files.
struct Reconciler: Sendable {
    /// Whether every unpinned file is treated as due.
    var everythingIsDue = false
    /// Targets that are treated as if no file were there.
    var refetched: Set<Target> = []
    /// Whether orphans are removed, and so may be renamed instead of copied.
    var prunes = false

    /// Makes a reconciler that asks only about due files, and leaves orphans.
    init() {}

    /// Returns the decision for a wanted resource.
    func step(for situation: Situation, now: Instant) -> Decision {
        switch situation.file {
        case .other(let kind):
            return Decision(
                .conflict, .obstructed(kind), means: .nothing, existing: .obstacle(kind))
        case .absent:
            return arrival(situation)
        case .file(let stamp):
            let isRefetched = refetched.contains(situation.resource.target)
            if situation.isUnread, !(situation.isUnreadable && isRefetched) {
                return Decision(
                    .conflict, situation.isUnreadable ? .unreadable : .unread, means: .nothing,
                    existing: .drifted(stamp))
            }
            if isRefetched {
                return Decision(
                    .fetch, .refetchAsked,
                    means: .transfer(part: nil, ifChangedSince: nil),
                    existing: existing(situation, stamp))
            }
            guard let record = situation.record else { return untracked(situation, stamp) }
            return situation.isIntact
                ? intact(situation, stamp, record, now: now)
                : drifted(situation, stamp, record, now: now)
        }
    }

    /// Decides about a file that the index does not know.
    ///
    /// The file is adopted if its bytes are the wanted ones. Otherwise it is the user's, and never
    /// lost.
    private func untracked(_ situation: Situation, _ stamp: FileStamp) -> Decision {
        if situation.holdsPinnedBytes { return adoption(situation, stamp, .unrecorded) }
        let existing = existing(situation, stamp)
        let mayBeWanted =
            situation.resource.pin == nil
            && (situation.resource.size ?? stamp.size) == stamp.size
        return mayBeWanted
            ? Decision(
                .fetch, .untrackedOfUnknownVersion, means: transfer(situation), existing: existing)
            : Decision(.conflict, .untracked, means: source(situation), existing: existing)
    }

    /// Decides about a file whose bytes are those that mirror put there.
    private func intact(
        _ situation: Situation, _ stamp: FileStamp, _ record: IndexRecord, now: Instant
    ) -> Decision {
        let existing = Step.ExistingFile.ours(stamp, sha256: record.sha256)
        if let reason = situation.reasonRecordIsOutdated {
            return Decision(.update, reason, means: source(situation), existing: existing)
        }
        // A newly declared digest proves as much about the bytes as the server's answer would.
        if situation.resource.pin == nil, everythingIsDue || !situation.isNewlyProven {
            let freshness = Freshness.judge(
                situation.resource.refresh, record: record, now: now,
                everythingIsDue: everythingIsDue)
            if case .due(let cause) = freshness {
                return Reconciler.asking(
                    about: record, stamp, because: cause,
                    means: transfer(situation, ifChangedSince: record.localVersion), now: now)
            }
            if situation.isUntouched, case .fresh(let until?) = freshness {
                return Reconciler.keeping(record.sha256, freshUntil: until)
            }
        }
        if situation.isUntouched, !situation.isNewlyProven {
            return Reconciler.keeping(record.sha256, freshUntil: nil)
        }
        let changesMode = record.isExecutable != situation.resource.isExecutable
        if stamp != record.stamp, !changesMode { return adoption(situation, stamp, .touched) }
        return adoption(situation, stamp, reasonToWrite(situation, record))
    }

    private static func asking(
        about record: IndexRecord, _ stamp: FileStamp, because cause: DueCause, means: Step.Means,
        now: Instant
    ) -> Decision {
        let reason: Reason =
            if case .transfer(_, nil) = means {
                .dueWithoutValidator(cause, at: now)
            } else { .due(cause, at: now) }
        return Decision(
            .revalidate, reason, means: means, existing: .ours(stamp, sha256: record.sha256),
            row: record)
    }

    /// Returns the decision to keep a file that is as its row says.
    ///
    /// The file is fresh until `end`. `nil` means that it is fresh for ever.
    private static func keeping(_ sha256: Digest, freshUntil end: Instant?) -> Decision {
        Decision(
            .keep, end.map { .fresh(until: $0) } ?? .intact, means: .nothing,
            existing: .recorded(sha256: sha256))
    }

    /// Returns why the row of an unchanged file is written again.
    private func reasonToWrite(_ situation: Situation, _ record: IndexRecord) -> Reason {
        if record.owners != situation.owners {
            return situation.owners.isShared
                ? .ownedTogether(by: situation.owners)
                : .ownedBefore(by: record.owners.description)
        }
        return record.isExecutable == situation.resource.isExecutable
            ? .proven : .modeChanged(isExecutable: situation.resource.isExecutable)
    }

    /// Decides about a file that changed since mirror put it there.
    private func drifted(
        _ situation: Situation, _ stamp: FileStamp, _ record: IndexRecord, now: Instant
    ) -> Decision {
        if situation.holdsPinnedBytes { return adoption(situation, stamp, .unrecorded) }
        guard situation.resource.target.area == .documents else {
            return Decision(
                .repair, .drifted, means: source(situation), existing: .drifted(stamp))
        }
        let existing = existing(situation, stamp)
        // An unknown source does not prove that another version is wanted. A request would show it.
        if let reason = situation.reasonRecordIsOutdated, reason != .sourceUnknown {
            return Decision(
                .conflict, .editedAndChanged, means: source(situation), existing: existing)
        }
        if situation.resource.pin == nil,
            case .due = Freshness.judge(
                situation.resource.refresh, record: record, now: now,
                everythingIsDue: everythingIsDue)
        {
            // The version is passed on even if a request cannot name it as a condition. If the
            // server sends the same bytes, nothing has changed.
            return Decision(
                .edited, .editedAndDue,
                means: .transfer(part: situation.fittingPart, ifChangedSince: record.version),
                existing: existing)
        }
        return Decision(.edited, .edited, means: .nothing, existing: existing)
    }

    /// Decides how a target without a file gets its bytes.
    ///
    /// They come from the tree if they are there. Otherwise a source gives them; a part is
    /// continued.
    private func arrival(_ situation: Situation) -> Decision {
        if refetched.contains(situation.resource.target) {
            return Decision(
                .fetch, .refetchAsked, means: .transfer(part: nil, ifChangedSince: nil),
                existing: .nothing)
        }
        // If every unpinned file is due, no orphan is renamed, because a rename makes no request.
        if let orphan = situation.fittingOrphan,
            situation.resource.pin != nil || !everythingIsDue
        {
            return Decision(
                .move, .orphanHasBytes(orphan.target),
                means: prunes ? .move(of: orphan.target) : .copy(of: orphan.target),
                existing: .nothing)
        }
        if let localSource = situation.localSource {
            return Decision(
                .copy, .sameBytesAt(localSource), means: .copy(of: localSource), existing: .nothing)
        }
        if let part = situation.fittingPart {
            return Decision(
                .resume, .partAvailable(bytes: part.loggedBytes),
                means: .transfer(part: part, ifChangedSince: nil), existing: .nothing)
        }
        return .plainFetch
    }

    private func adoption(
        _ situation: Situation, _ stamp: FileStamp, _ reason: Reason
    ) -> Decision {
        guard let sha256 = situation.digests.first ?? situation.record?.sha256 else {
            return Decision(
                .conflict, .untracked, means: source(situation),
                existing: existing(situation, stamp))
        }
        return Decision(
            .keep, reason, means: .adoption(sha256: sha256),
            existing: .ours(stamp, sha256: sha256))
    }

    /// Returns whose bytes are at the target: mirror's, foreign ones to preserve, or drifted ones that
    /// mirror replaces.
    private func existing(_ situation: Situation, _ stamp: FileStamp) -> Step.ExistingFile {
        if situation.isIntact, let record = situation.record {
            return .ours(stamp, sha256: record.sha256)
        }
        if situation.record != nil, situation.resource.target.area != .documents {
            return .drifted(stamp)
        }
        return .foreign(stamp, sha256: situation.digests.first)
    }

    /// Returns where the bytes come from: from the tree if they are there, else from a source.
    private func source(_ situation: Situation) -> Step.Means {
        situation.localSource.map { .copy(of: $0) } ?? transfer(situation)
    }

    private func transfer(
        _ situation: Situation, ifChangedSince local: LocalVersion? = nil
    ) -> Step.Means {
        let asksCondition = situation.resource.method == .get
        return .transfer(
            part: situation.fittingPart, ifChangedSince: asksCondition ? local : nil)
    }
}

/// The reconciler's decision for one situation.
///
/// It is a class: the steps of a plan are read and passed on very often, and a copy then counts one
/// reference.
final class Decision: Sendable {
    /// What the step does.
    let kind: Step.Kind
    /// Why the step does this.
    let reason: Reason
    /// Where the bytes come from.
    let means: Step.Means
    /// The existing file, as far as the step relies on it.
    let existing: Step.ExistingFile
    /// The version that a request asks about. `nil` means that the request asks about no version.
    let local: LocalVersion?
    /// Whether a transfer continues a part.
    let hasPart: Bool
    /// The row of an unchanged file that a source is asked about, as it was in the scan.
    ///
    /// `nil` for all other decisions.
    let row: IndexRecord?

    init(
        _ kind: Step.Kind, _ reason: Reason, means: Step.Means, existing: Step.ExistingFile,
        row: IndexRecord? = nil
    ) {
        self.kind = kind
        self.reason = reason
        self.means = means
        self.existing = existing
        self.row = row
        if case .transfer(let part, let local) = means {
            (self.local, hasPart) = (local, part != nil)
        } else {
            (local, hasPart) = (nil, false)
        }
    }

    /// The decision that nearly all steps of a first run share: no file is there, so it is fetched.
    static let plainFetch = Decision(
        .fetch, .missing, means: .transfer(part: nil, ifChangedSince: nil), existing: .nothing)

    /// Returns the same decision with another action, reason, means or file.
    func with(
        kind: Step.Kind? = nil, reason: Reason? = nil, means: Step.Means? = nil,
        existing: Step.ExistingFile? = nil
    ) -> Decision {
        Decision(
            kind ?? self.kind, reason ?? self.reason, means: means ?? self.means,
            existing: existing ?? self.existing, row: row)
    }
}

extension Decision: Hashable {
    /// Whether action, reason, means and file are equal. Then the rows are equal too.
    static func == (left: Decision, right: Decision) -> Bool {
        left === right
            || left.kind == right.kind && left.reason == right.reason && left.means == right.means
                && left.existing == right.existing
    }

    /// Hashes action, reason, means and file.
    func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(reason)
        hasher.combine(means)
        hasher.combine(existing)
    }
}
