/// Why a step is what it is: a code for scripts, and a sentence for people.
package enum Reason: Sendable, Hashable {
    // Nothing to fetch.
    case intact
    case fresh(until: Instant)
    case touched
    case unrecorded
    case modeChanged(isExecutable: Bool)
    case ownedBefore(by: String)
    case ownedTogether(by: Owners)
    case proven
    // Something to fetch.
    case missing
    case refetchAsked
    case digestChanged(from: Digest, to: Digest)
    case sizeChanged(from: Int64, to: Int64)
    case sourceChanged(to: SourceKey)
    case sourceUnknown
    case due(DueCause, at: Instant)
    case dueWithoutValidator(DueCause, at: Instant)
    case drifted
    case partAvailable(bytes: Int64)
    // Bytes that mirror did not put there.
    case edited
    case editedAndDue
    case editedAndChanged
    case untracked
    case untrackedOfUnknownVersion
    case unread
    case unreadable
    case obstructed(FileKind)
    // Bytes that are in the tree already.
    case sameBytesAt(Target)
    case orphanHasBytes(Target)
    case orphan(of: String)
    // What an answer brought.
    case confirmed
    case entityTagChanged(from: EntityTag, to: EntityTag)
    case bytesChanged
    case sameBytes
    case unreachable(FailureCode)
    case requestShared(with: Target)
    // Why no source was asked.
    case deferred(Deferral)
    // Why a file is not kept.
    case overQuota(of: Int64, size: Int64?)
    case unused(seconds: Int64)
    case noRoom(SpaceShortage)
}

extension Reason {
    /// Whether the disk has no room for the file.
    package var isNoRoom: Bool { if case .noRoom = self { true } else { false } }

    /// Whether the manifest wants another mode of the file.
    var isModeChange: Bool { if case .modeChanged = self { true } else { false } }

    /// The reason as a word that scripts may rely on.
    package var code: String {
        switch self {
        case .intact: "intact"
        case .fresh: "fresh"
        case .touched: "touched"
        case .unrecorded: "unrecorded"
        case .modeChanged: "mode-changed"
        case .ownedBefore: "owner-changed"
        case .ownedTogether: "owner-shared"
        case .proven: "proven"
        case .missing: "missing"
        case .refetchAsked: "refetch"
        case .digestChanged: "digest-changed"
        case .sizeChanged: "size-changed"
        case .sourceChanged: "source-changed"
        case .sourceUnknown: "source-unknown"
        case .due, .dueWithoutValidator: "due"
        case .drifted: "drifted"
        case .partAvailable: "part-available"
        case .edited: "edited"
        case .editedAndDue: "edited-due"
        case .editedAndChanged: "edited-changed"
        case .untracked: "stranger"
        case .untrackedOfUnknownVersion: "stranger-unpinned"
        case .unread: "unread"
        case .unreadable: "unreadable"
        case .obstructed: "obstructed"
        case .sameBytesAt: "same-bytes-elsewhere"
        case .orphanHasBytes: "orphan-has-bytes"
        case .orphan: "orphan"
        case .confirmed: "confirmed"
        case .entityTagChanged: "etag-changed"
        case .bytesChanged: "bytes-changed"
        case .sameBytes: "same-bytes"
        case .unreachable: "unreachable"
        case .requestShared: "request-shared"
        case .deferred(.outsideWindow): "outside-window"
        case .deferred(.meteredNetwork): "metered"
        case .deferred(.budgetSpent): "budget-spent"
        case .deferred(.paused): "paused"
        case .overQuota: "over-quota"
        case .unused: "unused"
        case .noRoom: "no-room"
        }
    }

    /// The reason as a sentence, with the values that decided.
    package var because: String {
        switch self {
        case .intact: "unchanged since mirror put it there"
        case .fresh(let until): "fresh until \(until.rfc3339)"
        case .touched: "its bytes are the recorded ones, its time or inode was not"
        case .unrecorded: "its bytes are the wanted ones, the index did not know them"
        case .modeChanged(let isExecutable):
            "the manifest wants it \(isExecutable ? "" : "not to be ")executable"
        case .ownedBefore(let owner): "it was of \(owner) until now"
        case .ownedTogether(let owners): "it is of \(owners) now, who pin the same bytes"
        case .proven: "it was read, and has the digest that the manifest declares"
        case .missing: "not there"
        case .refetchAsked: "to be fetched as if it were not there"
        case .digestChanged(let old, let new):
            "the manifest wants \(new.brief), \(old.brief) is there"
        case .sizeChanged(let old, let new):
            "the manifest wants \(Counted(new, "byte")), \(old) \(Counted.verb(old, "is", "are")) there"
        case .sourceChanged(let key): "the source is now \(key)"
        case .sourceUnknown: "the index does not say which source it came from"
        case .due(let cause, let now): cause.because(at: now)
        case .dueWithoutValidator(let cause, let now):
            cause.because(at: now) + "; fetched whole, there is no validator to ask with"
        case .drifted: "changed since mirror put it there"
        case .partAvailable(let bytes):
            "\(ByteCount(bytes)) of it \(Counted.verb(bytes, "was", "were")) fetched before"
        case .edited: "edited here; the manifest still wants the version that was edited"
        case .editedAndDue: "edited here, and due"
        case .editedAndChanged: "edited here, and the manifest wants another version"
        case .untracked: "a file that mirror did not put there holds other bytes"
        case .untrackedOfUnknownVersion: "a file that mirror did not put there may hold other bytes"
        case .unread: "it came to be, or changed, while the tree was looked at"
        case .unreadable: "it cannot be read, or does not stay the same meanwhile"
        case .obstructed(let kind): "a \(kind.rawValue) is in the way"
        case .sameBytesAt(let target): "\(target) has the same bytes"
        case .orphanHasBytes(let target): "\(target), no longer wanted, has the bytes"
        case .orphan(let owner): "the manifest \(owner) no longer names it"
        case .confirmed: "the server confirmed it"
        case .entityTagChanged(let old, let new): "\(old) is now \(new)"
        case .bytesChanged: "the server sent other bytes"
        case .sameBytes: "the server sent the bytes that were there"
        case .unreachable(let code): "no source could be reached (\(code.rawValue)); kept as it is"
        case .requestShared(let target): "fetched once, for \(target)"
        case .deferred(let deferral): deferral.because { $0.rfc3339 }
        case .overQuota(let quota, let size):
            "no room within the quota of \(ByteCount(quota)); "
                + (size.map { "to fetch it again: \(ByteCount($0))" } ?? "its size is not known")
        case .unused(let seconds):
            "not used for \(DurationText(seconds: seconds)), longer than tmp keeps a file"
        case .noRoom(let shortage): shortage.because
        }
    }
}

extension DueCause {
    fileprivate func because(at now: Instant) -> String {
        switch self {
        case .always: return "due on every run (refresh=always)"
        case .asked: return "due: every file is to be asked about"
        case .age(let since, let lifetime):
            return "due: \(late(since, now)), refresh=\(Refresh.after(.seconds(lifetime)))"
        case .expired(let since, let lifetime):
            return "due: \(late(since, now)), max-age=\(max(0, lifetime))"
        case .noLifetime: return "due: the server gave no lifetime (refresh=http)"
        case .clockWentBack: return "due: it was last confirmed in the future"
        }
    }

    private func late(_ since: Instant, _ now: Instant) -> String {
        "\(DurationText(seconds: now.seconds(since: since))) ago"
    }
}

extension Digest {
    /// The algorithm and the first eight digits, for a sentence.
    var brief: String { "\(algorithm.rawValue) \(hex.prefix(8))…" }
}
