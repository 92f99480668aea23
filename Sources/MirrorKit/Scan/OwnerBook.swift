internal import MirrorManifests
internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The targets of all owners: manifests of a run, and manifests that the root remembers.
///
/// A remembered manifest is read when it is needed for the first time.
final class OwnerBook: Sendable {
    /// Former names of manifests of the run.
    let formerNames: [String: Int]
    private let manifests: [Manifest]
    private let given: [String: Int]
    private let memories: [String: ManifestMemory]
    /// The manifests that were read, with the order of their targets.
    private let read = Mutex<[String: (manifest: Manifest, order: PathOrder)?]>([:])

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

    /// Whether a manifest of the run has, or had, a name.
    func isOfRun(_ name: String) -> Bool { given[name] != nil || formerNames[name] != nil }

    /// Whether a manifest of the run, or one that the root remembers, names a target.
    func isWanted(_ target: Target) -> Bool {
        Set(given.keys).union(memories.keys).contains { claim(of: $0, on: target) != nil }
    }

    /// The resource by which another owner names a target, and its place; nil if there is none.
    func claim(
        of name: String, on target: Target
    ) -> (
        resource: Resource, claim: TargetDispute.Claim, isGiven: Bool, isAtomic: Bool
    )? {
        if formerNames[name] != nil { return nil }
        let targets = read.withLock { read in
            if let known = read[name] { return known }
            let manifest = given[name].map { manifests[$0] } ?? memories[name]?.known()
            let targets = manifest.map { ($0, $0.resources.sortedOrder) }
            read[name] = .some(targets)
            return targets
        }
        guard let (manifest, order) = targets,
            let position = manifest.resources.position(of: target, in: order)
        else { return nil }
        return (
            manifest.resources[position], manifest.claim(at: position), given[name] != nil,
            manifest.isAtomic
        )
    }
}

// MARK: Former names

extension OwnerBook {
    /// Names under which the root remembered manifests of a run before, each with the position of the
    /// manifest that had it.
    ///
    /// If a user writes another `name` into the file at a remembered place, everything that the old
    /// name owns belongs to the new one. A name that the root knows already is not new: then one file was
    /// copied over another.
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

    /// The former names of manifests, with places relative to the root of a view.
    static func formerNames(
        of manifests: [Manifest], among records: [ManifestRecord], in view: TreeView
    ) -> [String: Int] {
        formerNames(
            of: manifests, among: records,
            root: view.root.map { resolvedPath($0.path) ?? $0.path } ?? "")
    }

    /// The manifests that give up targets which they no longer name, by their owners in rows.
    ///
    /// One without a name gives up nothing.
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
    /// The place where a resource is declared, for people.
    func claim(at position: Int) -> TargetDispute.Claim {
        let place = resources.place(at: position)
        return TargetDispute.Claim(
            name: owner, file: label ?? owner, line: place.line, column: place.column)
    }
}

extension Manifest {
    /// Refuses a name that is a remembered one in another Unicode form: it would own what that one owns,
    /// or not, as names are compared by characters or by bytes.
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
    /// The refusal of targets that two manifests want differently; nil if there are none.
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
