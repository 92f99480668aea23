/// The action on one target, and its reason.
public struct Step: Sendable, Hashable {
    /// The target.
    public var target: Target
    /// The manifest, as a position in the plan's list.
    public var manifest: Int
    /// The resource, as a position in the manifest; nil for a target that is no longer wanted.
    public var resource: Int?
    /// The action, its reason, and the bytes for it.
    public var decision: Decision
    /// The size of the whole file in bytes, where known.
    public var size: Int64?

    /// Takes the parts of a step.
    public init(
        target: Target, manifest: Int, resource: Int?, kind: Kind, reason: Reason, means: Means,
        existing: ExistingFile, size: Int64?
    ) {
        self.init(
            target: target, manifest: manifest, resource: resource,
            decision: Decision(kind, reason, means: means, existing: existing), size: size)
    }

    /// Applies a decision to a target.
    package init(
        target: Target, manifest: Int, resource: Int?, decision: Decision, size: Int64?
    ) {
        self.target = target
        self.manifest = manifest
        self.resource = resource
        self.decision = decision
        self.size = size
    }

    /// The action.
    public var kind: Kind {
        get { decision.kind }
        set { decision.kind = newValue }
    }

    /// Why.
    public var reason: Reason {
        get { decision.reason }
        set { decision.reason = newValue }
    }

    /// Where the bytes come from.
    public var means: Means {
        get { decision.means }
        set { decision.means = newValue }
    }

    /// The existing file, as far as the step relies on it.
    public var existing: ExistingFile {
        get { decision.existing }
        set { decision.existing = newValue }
    }

    /// The decision, by the name that the plan prints.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case conflict, edited, update, repair, revalidate, keep, move, copy, resume, evicted, fetch
        case remove
    }

    /// Where the bytes of a step come from.
    public enum Means: Sendable, Hashable {
        /// Nothing is to be brought.
        case nothing
        /// The file that is there gets a row, or its row a new stamp.
        case adoption(sha256: Digest)
        /// The network: from where a part ends, and only if the source has another version.
        indirect case transfer(part: PartRecord?, ifChangedSince: LocalVersion?)
        /// Bytes elsewhere in the tree.
        case copy(of: Target)
        /// An orphan, which is renamed.
        case move(of: Target)
        /// The target is removed.
        case removal
    }

    /// The file at a target when its step is decided.
    public enum ExistingFile: Sendable, Hashable {
        /// Nothing.
        case nothing
        /// The version that mirror put there; its stamp as seen now.
        case ours(FileStamp, sha256: Digest)
        /// That version, and everything else about it as it was recorded; the step relies on no more.
        case recorded(sha256: Digest)
        /// Bytes that mirror did not put there, which are not to be lost; no digest if they cannot be
        /// read.
        case foreign(FileStamp, sha256: Digest?)
        /// Bytes that mirror did not put there, in an area where drift is mended: replaced.
        case drifted(FileStamp)
        /// Something that cannot be replaced.
        case obstacle(FileKind)
    }

    /// The offset in bytes at which a transfer continues; 0 when it begins at the start.
    public var offset: Int64 {
        if let part { return part.loggedLength }
        return 0
    }

    /// Bytes of a part that need not be fetched; at least `offset`.
    public var reusableBytes: Int64 {
        if let part { return part.loggedBytes }
        return 0
    }

    /// Whose row in the index the step depends on: that of the file it copies or moves, or its own.
    package var rowTarget: Target {
        switch means {
        case .copy(let source), .move(let source): source
        case .nothing, .adoption, .transfer, .removal: target
        }
    }

    /// The stamp that the file at the target had when the step was decided; nil where that is its row's,
    /// or where no file was there.
    package var seen: FileStamp? {
        switch existing {
        case .ours(let stamp, _), .foreign(let stamp, _), .drifted(let stamp): stamp
        case .nothing, .recorded, .obstacle: nil
        }
    }

    /// Whether the file stays as it is, and nothing is to be said about it.
    package var isKept: Bool { kind == .keep && means == .nothing }

    /// Whether a request is made.
    public var needsNetwork: Bool {
        if case .transfer = means { return true }
        return false
    }
}
