internal import MirrorModel

/// Decides again on steps that would fetch bytes which the tree may have under other names.
struct TreeSources {
    private let view: ScanView

    init(_ view: ScanView) { self.view = view }

    /// Looks for the bytes of all steps that need them. Throws `MirrorError`.
    func look(_ findings: inout ScanFindings) throws {
        guard let index = view.index, !findings.searching.isEmpty else { return }
        let localSources = try LocalSources(
            for: pins(of: findings), in: index, root: view.root, findings)
        let orphanSources = try OrphanSources(
            findings.orphans, for: situations(of: findings), in: index)
        guard !localSources.isEmpty || !orphanSources.isEmpty else { return }
        for search in findings.searching {
            let position = Int(search.step)
            var situation = situation(of: search, in: findings)
            // Only a response names the file, and no file gets the provisional name.
            let resource = situation.resource
            if !resource.target.isProvisional(for: resource.primary.url) {
                situation.localSource = localSources.target(for: resource)
                situation.orphan = orphanSources.orphan(for: situation)
            }
            guard situation.localSource != nil || situation.orphan != nil else { continue }
            let decision = view.reconciler.step(for: situation, now: view.now)
            var step = findings.steps[position]
            step.kind = decision.kind
            step.reason = decision.reason
            step.means = decision.means
            if let orphan = situation.orphan, step.rowTarget == orphan.target,
                resource.pin == nil
            {
                findings.orphanBytes[orphan.target] = orphan.sha256
            }
            if step.size == nil { step.size = situation.orphan?.stamp.size }
            findings.steps.replace(at: position, with: step)
        }
        shareOrphans(&findings)
    }

    private func situations(of findings: ScanFindings) -> some Sequence<Situation> {
        findings.searching.lazy.map { situation(of: $0, in: findings) }
    }

    /// The situation that the step of a search was decided from.
    private func situation(
        of search: ScanFindings.Search, in findings: ScanFindings
    ) -> Situation {
        findings.situation(of: search)
            ?? view.situation(of: entry(of: findings.steps[Int(search.step)]))
    }

    private func entry(of step: Step) -> Wanted.Reference {
        Wanted.Reference(manifest: Int32(step.manifest), resource: Int32(step.resource ?? 0))
    }

    private func pins(of findings: ScanFindings) -> some Sequence<Digest> {
        situations(of: findings).lazy.compactMap(\.resource.pin)
    }

    /// Replaces moves by copies if several steps want the bytes of one orphan.
    ///
    /// An orphan can be renamed only once.
    private func shareOrphans(_ findings: inout ScanFindings) {
        var orphanSources: [Target: [Int]] = [:]
        for position in findings.searching.lazy.map({ Int($0.step) }) {
            if case .move(let orphan) = findings.steps[position].means {
                orphanSources[orphan, default: []].append(position)
            }
        }
        for (orphan, positions) in orphanSources where positions.count > 1 {
            for position in positions {
                var step = findings.steps[position]
                step.means = .copy(of: orphan)
                findings.steps.replace(at: position, with: step)
            }
        }
    }
}
