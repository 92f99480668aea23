internal import Synchronization

/// The targets of all owners: of the manifests of a run and of those that the root remembers.
///
/// The book reads a remembered manifest when it first needs its targets.
final class OwnerBook: Sendable {
    /// Earlier names of manifests of the run, each with the position of its manifest.
    let formerNames: [String: Int]
    private let manifests: [Manifest]
    private let given: [String: Int]
    private let memories: [String: ManifestMemory]
    /// The manifests that the book has read, with the order of their targets, and what their
    /// selections leave out. `nil` if one is unreadable.
    private let read = Mutex<
        [String: (manifest: Manifest, order: PathOrder, leftOut: PositionSet)?]
    >([:])

    init(_ manifests: [Manifest], view: TreeView) throws {
        self.manifests = manifests
        given = Dictionary(
            manifests.enumerated().map { ($1.owner, $0) }, uniquingKeysWith: { $1 })
        let memories = try ManifestMemory.all(in: view)
        for manifest in manifests { try manifest.refuseTwin(among: memories.map(\.record.name)) }
        formerNames = OwnerBook.formerNames(
            of: manifests, among: memories.map(\.record), in: view)
        self.memories = Dictionary(
            memories.map { ($0.record.name, $0) }, uniquingKeysWith: { $1 })
    }

    /// Whether a name is the present or a former name of a manifest of the run.
    func isOfRun(_ name: String) -> Bool { given[name] != nil || formerNames[name] != nil }

    /// Whether a manifest of the run, or one that the root remembers, names a target.
    func isWanted(_ target: Target) -> Bool {
        Set(given.keys).union(memories.keys).contains { claim(of: $0, on: target) != nil }
    }

    /// The resource with which an owner names a target, and the place of its declaration.
    ///
    /// Returns nil if the owner does not name the target, or if its selection leaves it out.
    func claim(
        of name: String, on target: Target
    ) -> (
        resource: Resource, claim: TargetDispute.Claim, isGiven: Bool, isAtomic: Bool
    )? {
        if formerNames[name] != nil { return nil }
        let targets = read.withLock { read in
            if let known = read[name] { return known }
            let manifest = given[name].map { manifests[$0] } ?? memories[name]?.known()
            let targets = manifest.map {
                ($0, $0.resources.sortedOrder, $0.selection.leftOut(of: $0.resources))
            }
            read[name] = .some(targets)
            return targets
        }
        guard let (manifest, order, leftOut) = targets,
            let position = manifest.resources.position(of: target, in: order),
            !leftOut.contains(position)
        else { return nil }
        return (
            manifest.resources[position], manifest.claim(at: position), given[name] != nil,
            manifest.isAtomic
        )
    }
}

// MARK: Former names

extension OwnerBook {
    /// Names under which the root remembered manifests of a run before.
    ///
    /// Each name has the position of the manifest that had this name. A user may change the `name`
    /// in the file at a remembered place. The new name then owns all that the old name owned. A
    /// name that the root remembers already is no new name: then one file was copied over another.
    static func formerNames(
        of manifests: [Manifest], among records: [ManifestRecord], root: String
    ) -> [String: Int] {
        let known = Set(records.map(\.name))
        let given = Set(manifests.map(\.owner))
        var names: [String: Int] = [:]
        for (position, manifest) in manifests.enumerated() where !known.contains(manifest.owner) {
            for record in records where !given.contains(record.name) {
                let isItsPlace =
                    switch manifest.whereabouts {
                    case .file(let path): record.place.paths(from: root).first == path
                    case .url(let key): record.place == .url(key)
                    case .code, .standardInput: false
                    }
                if isItsPlace { names[record.name] = position }
            }
        }
        return names
    }

    /// The former names of manifests. Places are relative to the root of the view.
    static func formerNames(
        of manifests: [Manifest], among records: [ManifestRecord], in view: TreeView
    ) -> [String: Int] {
        formerNames(
            of: manifests, among: records,
            root: view.root.map { resolvedPath($0.path) ?? $0.path } ?? "")
    }

    /// The manifests whose targets become orphans when the manifest no longer names them.
    ///
    /// The keys are their owners in rows. A manifest without a name has no orphans.
    static func orphanOwners(
        _ manifests: [Manifest], _ formerNames: [String: Int]
    ) -> [String: Int] {
        var owners: [String: Int] = [:]
        for (position, manifest) in manifests.enumerated() {
            if let name = manifest.name { owners[Owners(name).text] = position }
        }
        for (name, position) in formerNames where manifests[position].name != nil {
            owners[Owners(name).text] = position
        }
        return owners
    }
}

extension Manifest {
    /// The place where a resource is declared, for messages.
    func claim(at position: Int) -> TargetDispute.Claim {
        let place = resources.place(at: position)
        return TargetDispute.Claim(
            name: owner, file: label ?? owner, line: place.line, column: place.column)
    }
}

extension Manifest {
    /// Throws if a remembered name is the manifest's name in another Unicode form.
    ///
    /// Swift compares names by characters, and the index compares them by bytes. So it would be
    /// unclear which of the two owns a file.
    fileprivate func refuseTwin(among names: [String]) throws(MirrorError) {
        let twin = names.first { $0 == owner && !$0.utf8.elementsEqual(owner.utf8) }
        if twin == nil { return }
        throw MirrorError(
            .manifestInvalid,
            "\(label ?? owner): this root remembers a manifest called \(Quoted(owner)) in another Unicode form. Give this one another name, or write its name as it was."
        )
    }
}

extension ManifestError {
    /// The error for targets for which two manifests want different files. Returns nil if there are
    /// none.
    init?(_ disputes: [TargetDispute]) {
        guard !disputes.isEmpty else { return nil }
        let diagnostics = disputes.prefix(DiagnosticLog.limit).map { dispute in
            Diagnostic(
                file: dispute.given.file, line: dispute.given.line, column: dispute.given.column,
                severity: .error, message: dispute.sentence, remedy: dispute.remedy)
        }
        self.init(diagnostics: diagnostics, omitted: disputes.count - diagnostics.count)
    }
}
