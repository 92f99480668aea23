/// The values that all ranges of a scan share.
struct ScanView: Sendable {
    let wanted: Wanted
    let options: PlanOptions
    let reconciler: Reconciler
    let root: RootDirectory?
    let index: Index?
    let now: Instant
    var isCancelled: @Sendable () -> Bool
    /// Receives the progress of the scan. `nil` if no code listens.
    let meter: ActivityMeter?
    /// The targets that other owners name.
    let book: OwnerBook
    /// The positions of the manifests whose orphans the scan looks for, by the text of their
    /// owners.
    let orphanOwners: [String: Int]
    /// The parts that the index knows, by their targets.
    var parts: [Target: [PartRecord]] = [:]
}

extension ScanView {
    /// Throws `MirrorError` with `cancelled` if the caller has cancelled the plan.
    func stopIfCancelled() throws {
        if isCancelled() { throw MirrorError(.cancelled, "Interrupted while the plan was made.") }
    }

    /// Whether a row already has the owners that an entry needs.
    func keepsOwners(_ entry: Wanted.Reference, _ row: RowProjection) -> Bool {
        if wanted.isOnlyOwner(of: entry, row.owner) { return true }
        guard Owners.areShared(row.owner) else { return false }
        let owners = Owners(text: String(decoding: row.owner, as: UTF8.self))
        let wanting = wanted.owners(of: entry)
        return wanting.allSatisfy(owners.contains)
            && owners.names.allSatisfy { wanting.contains($0) || !book.isOfRun($0) }
    }

    /// The situation of an entry, still without its row, its file and its parts.
    func situation(of entry: Wanted.Reference) -> Situation {
        let resource = wanted.resource(of: entry)
        return Situation(
            resource: resource, owner: wanted.manifests[Int(entry.manifest)].owner,
            sources: resource.pin == nil ? resource.sources.map { SourceKey($0.url) } : [])
    }

    /// Whether a decision is a plain fetch, of which the resource says all.
    func isPlainFetch(_ decision: Decision, _ entry: Wanted.Reference) -> Bool {
        decision == .plainFetch && !wanted.isNamedByServer(entry)
    }

    /// The step that a decision makes.
    func step(_ decision: Decision, _ entry: Wanted.Reference, _ situation: Situation) -> Step {
        var size = situation.resource.size ?? situation.record?.stamp.size
        if decision.kind != .keep, situation.resource.size == nil {
            size = nil
            if case .transfer(let part, _) = decision.means {
                let isFetched = decision.kind == .fetch
                size = part?.total ?? (isFetched ? situation.resource.likelySize : nil)
            }
        }
        return Step(
            target: situation.resource.target, manifest: Int(entry.manifest),
            resource: Int(entry.resource), decision: decision, size: size)
    }
}
