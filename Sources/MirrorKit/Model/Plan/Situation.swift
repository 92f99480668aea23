/// Everything that decides the step of one wanted resource.
///
/// A situation is made from the manifest, the index and one look at the tree. No server is asked.
struct Situation: Sendable {
    /// The wanted resource.
    var resource: Resource
    /// The owner: the manifest's name, or the substitute for a manifest without a name.
    var owner: String
    /// The owners of the target once the step is done.
    var owners: Owners
    /// The keys of the resource's sources, in the order of the sources.
    var sources: [SourceKey]
    /// The index's row of the target. `nil` means that there is no row.
    var record: IndexRecord?
    /// The file at the target.
    var file: LocalFile = .absent
    /// Digests of the file, sha256 first. Empty if the file was not read.
    ///
    /// The scan reads a file whose stamp is not the record's, and one that the index does not know.
    /// It also reads one for which a digest of another algorithm is declared.
    var digests: [Digest] = []
    /// Whether the file had to be read and could not be read.
    ///
    /// The disk or the file's mode refused, or the file changed during the read.
    var isUnreadable = false
    /// The parts that the index knows for the target.
    var parts: [PartRecord] = []
    /// The target of an unchanged file of mirror's that has the pinned bytes, if there is one.
    var localSource: Target?
    /// An unchanged orphan of the same manifest that has the bytes, if there is one.
    var orphan: IndexRecord?

    /// Takes the wanted resource. By default there is no file, no row and no part.
    init(resource: Resource, owner: String, sources: [SourceKey]) {
        self.resource = resource
        self.owner = owner
        owners = Owners(owner)
        self.sources = sources
    }
}

extension Situation {
    /// Whether the file's bytes are those that mirror put there.
    var isIntact: Bool {
        guard let record, case .file(let stamp) = file else { return false }
        return digests.first.map { $0 == record.sha256 } ?? (stamp == record.stamp)
    }

    /// Whether the file's bytes, stamp, owners and mode are those that the record has or gets.
    var isUntouched: Bool {
        guard let record, case .file(let stamp) = file else { return false }
        return isIntact && stamp == record.stamp && record.owners == owners
            && record.isExecutable == resource.isExecutable
    }

    /// Whether a read proved the file's bytes by a digest that the record does not know yet.
    var isNewlyProven: Bool {
        guard holdsDeclaredBytes, let declared = resource.digests.first, let record else {
            return false
        }
        if resource.pin != nil, record.verified != .digest { return true }
        return record.digest(of: declared.algorithm) == nil
    }

    /// Whether the file was read and has the digest and size that pin the resource.
    var holdsPinnedBytes: Bool { resource.pin != nil && holdsDeclaredBytes }

    /// Whether the file was read and has the declared size and the strongest declared digest.
    ///
    /// This digest may be a weak one.
    private var holdsDeclaredBytes: Bool {
        guard let declared = resource.digests.first, case .file(let stamp) = file else {
            return false
        }
        return digests.contains(declared) && (resource.size ?? stamp.size) == stamp.size
    }

    /// Whether a file that may be the user's was not read.
    ///
    /// The file appeared or changed between two looks, or could not be read.
    var isUnread: Bool {
        guard case .file(let stamp) = file, digests.isEmpty else { return false }
        guard let record, !isUnreadable else { return true }
        return resource.target.area == .documents && stamp != record.stamp
    }

    /// Why the recorded version is not the wanted one. `nil` means that it is the wanted one.
    var reasonRecordIsOutdated: Reason? {
        guard let record else { return nil }
        if let (known, declared) = contradiction(of: record) {
            return .digestChanged(from: known, to: declared)
        }
        if let pin = resource.pin, !resource.digests.contains(where: record.isProven) {
            // The record knows none of the declared digests. A digest of the intact file decides.
            let read = isIntact ? digests.first { $0.algorithm == pin.algorithm } : nil
            if read != pin { return .digestChanged(from: read ?? record.sha256, to: pin) }
        } else if let (read, declared) = weakContradiction(of: record) {
            return .digestChanged(from: read, to: declared)
        }
        if let size = resource.size, size != record.stamp.size {
            return .sizeChanged(from: record.stamp.size, to: size)
        }
        guard resource.pin == nil else { return nil }
        guard let provenance = record.provenance else { return .sourceUnknown }
        return sources.contains(provenance.source)
            ? nil : sources.first.map { .sourceChanged(to: $0) }
    }

    /// Returns a known digest that a declared one contradicts. Returns nil if all agree.
    ///
    /// If the resource has a pin, its weak digests do not count.
    private func contradiction(of record: IndexRecord) -> (known: Digest, declared: Digest)? {
        for declared in resource.digests where declared.algorithm.isStrong || resource.pin == nil {
            if let known = record.digest(of: declared.algorithm), known != declared {
                return (known, declared)
            }
        }
        return nil
    }

    /// Returns the digest of the intact file if it differs from the declared weak digest.
    ///
    /// Returns nil if the resource has a pin, or if the record knows a digest of this algorithm.
    private func weakContradiction(of record: IndexRecord) -> (read: Digest, declared: Digest)? {
        guard resource.pin == nil, isIntact, let declared = resource.digests.first,
            record.digest(of: declared.algorithm) == nil,
            let read = digests.first(where: { $0.algorithm == declared.algorithm }),
            read != declared
        else { return nil }
        return (read, declared)
    }

    /// The orphan, if its bytes are the wanted ones.
    ///
    /// The pin proves the bytes. Without a pin, the same source must have vouched for them with a
    /// strong validator.
    var fittingOrphan: IndexRecord? {
        guard let orphan, (resource.size ?? orphan.stamp.size) == orphan.stamp.size,
            contradiction(of: orphan) == nil
        else { return nil }
        if resource.pin != nil {
            return resource.digests.contains(where: orphan.isProven) ? orphan : nil
        }
        // The answer to a POST depends on the request's body, which the key of a source does not
        // hold.
        guard resource.method == .get, orphan.validators.strong != nil,
            let source = orphan.provenance?.source, sources.contains(source)
        else { return nil }
        return orphan
    }

    /// The part with the most bytes that may be continued. `nil` means that no part fits.
    var fittingPart: PartRecord? {
        // Most situations have no part, and the closure below would copy the whole situation.
        guard !parts.isEmpty, resource.method == .get else { return nil }
        return parts.filter(fits).max { $0.loggedBytes < $1.loggedBytes }
    }

    private func fits(_ part: PartRecord) -> Bool {
        guard part.loggedLength > 0 else { return false }
        let size = resource.size ?? part.total ?? .max
        guard (part.total ?? size) == size, part.loggedLength <= size else { return false }
        switch part.identity {
        case .digest(let digest):
            return digest.algorithm.isStrong && resource.digests.contains(digest)
        case .version(let provenance, _):
            return resource.pin == nil && sources.contains(provenance.source)
        case .anonymous: return false
        }
    }
}

extension Situation {
    /// Whether all manifests that want the target own it already, in the version that they want.
    ///
    /// Then the other owners have agreed before.
    func isSettledAmongOwners(_ wanting: [String]) -> Bool {
        guard let record, wanting.allSatisfy(record.owners.contains), resource.pin != nil else {
            return false
        }
        return resource.digests.contains(where: record.isProven)
            && record.isExecutable == resource.isExecutable
    }
}

/// A file's size, times and inode. Equal stamps mean that the file's bytes were not touched.
package struct FileStamp: Sendable, Hashable {
    /// The size in bytes.
    package var size: Int64
    /// The modification time in nanoseconds since the Unix epoch.
    var modified: Int64
    /// The time of the last change of the inode, in nanoseconds since the Unix epoch.
    var changed: Int64
    /// The inode's number.
    var inode: UInt64
}

/// The result of a look at a target.
enum LocalFile: Sendable, Hashable {
    /// No file.
    case absent
    /// A regular file.
    case file(FileStamp)
    /// An entry that mirror neither replaces nor follows: a folder, a symbolic link, a device.
    case other(FileKind)
}

/// A kind of directory entry that is not a regular file.
package enum FileKind: String, Sendable, Hashable {
    case folder
    case symbolicLink = "symbolic link"
    case fifo = "named pipe"
    case socket
    case device
    /// A regular file in the place of one of the folders above the target.
    case fileAsFolder = "file in the place of a folder"
}

/// Whether the source of an existing file is asked again.
package enum Freshness: Sendable, Hashable {
    /// mirror does not ask the source before `until`. If `until` is nil, mirror never asks.
    case fresh(until: Instant?)
    /// mirror asks the source now, for this cause.
    case due(DueCause)

    /// Decides whether an unpinned file is due. mirror never asks about a pinned file.
    static func judge(
        _ refresh: Refresh, record: IndexRecord, now: Instant, everythingIsDue: Bool = false
    ) -> Freshness {
        if everythingIsDue { return .due(.asked) }
        return judge(
            refresh, confirmedAt: record.confirmedAt, freshUntil: record.freshUntil, now: now)
    }

    /// Decides whether a file is due; `freshUntil` is the time until which its answer is fresh.
    static func judge(
        _ refresh: Refresh, confirmedAt: Instant, freshUntil: Instant?, now: Instant
    ) -> Freshness {
        switch refresh {
        case .always: return .due(.always)
        case .never: return .fresh(until: nil)
        case .after, .http: break
        }
        // A confirmation from the future shows that a clock was wrong. One request sets it right.
        guard confirmedAt <= now else { return .due(.clockWentBack) }
        if case .after(let time) = refresh {
            let seconds = time.wholeSeconds
            let end = confirmedAt.advanced(bySeconds: seconds)
            return end > now ? .fresh(until: end) : .due(.age(since: end, lifetime: seconds))
        }
        guard let end = freshUntil else { return .due(.noLifetime) }
        let lifetime = end.seconds(since: confirmedAt)
        return end > now ? .fresh(until: end) : .due(.expired(since: end, lifetime: lifetime))
    }
}

extension IndexRecord {
    /// Whether the last confirmation is at most this many seconds old.
    ///
    /// A confirmation from the future shows a wrong clock and no age. Such a file could count as
    /// young for as many years as the clock was off.
    func wasConfirmed(within seconds: Int64, of now: Instant) -> Bool {
        confirmedAt <= now && now.seconds(since: confirmedAt) <= seconds
    }
}

/// Why a file is due.
package enum DueCause: Sendable, Hashable {
    /// `refresh` is `always`.
    case always
    /// The caller asked for everything to be treated as due.
    case asked
    /// The lifetime of the manifest's `refresh`, in seconds, ended at `since`.
    case age(since: Instant, lifetime: Int64)
    /// `refresh` is `http`, and the lifetime that the server gave, in seconds, ended at `since`.
    case expired(since: Instant, lifetime: Int64)
    /// `refresh` is `http`, and the server gave no lifetime.
    case noLifetime
    /// The last confirmation lies in the future.
    case clockWentBack
}
