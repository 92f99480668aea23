internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// What the machine wants to know about steps: their rows, and whether their targets are this run's.
extension RunThread {
    func read(_ wishes: [RowWish]) {
        do throws(MirrorError) {
            let rows = try engine.index.records(for: wishes.map(\.target))
            clock.look()
            machine.take(
                .found(zip(wishes, rows).map { KnownRow($0.position, $1) }), at: moment)
        } catch {
            machine.take(.unreadable(wishes.map(\.position), error), at: moment)
        }
    }

    func claim(_ wishes: [RowWish]) {
        // A claim that the run takes after its end would never be released.
        if machine.isOver { return }
        var planned: [KnownRow] = []
        var claimed: [Int] = []
        var targets: [Target] = []
        let trustsPlan = engine.index.rows.areThose(of: rowsMark)
        var occupied: [Int] = []
        for wish in wishes {
            if let set = engine.unfinished.first(where: { $0.contains(wish.target) }) {
                machine.take(.unreadable([wish.position], set.cause), at: moment)
                continue
            }
            let isOurs = engine.claims.claim(
                wish.target, by: claimant(wish.position), waiting: execution.mailbox)
            guard isOurs else {
                occupied.append(wish.position)
                continue
            }
            switch wish.planned {
            case .none where trustsPlan: planned.append(KnownRow(wish.position, nil))
            case .row(let row) where trustsPlan: planned.append(KnownRow(wish.position, row))
            case .unread, .none, .row:
                claimed.append(wish.position)
                targets.append(wish.target)
            }
        }
        if !planned.isEmpty {
            clock.look()
            machine.take(.claimed(planned), at: moment)
        }
        // A promotion that is being written down would be waited for.
        if !claimed.isEmpty { readRows(of: targets, claimed) }
        if !occupied.isEmpty { machine.take(.occupied(occupied), at: moment) }
    }

    private func readRows(of targets: [Target], _ claimed: [Int]) {
        do throws(MirrorError) {
            let rows = try engine.index.records(for: targets)
            clock.look()
            machine.take(.claimed(zip(claimed, rows).map { KnownRow($0, $1) }), at: moment)
        } catch {
            machine.take(.unreadable(claimed, error), at: moment)
        }
    }

    func claimant(_ position: Int) -> TargetClaims.Claimant {
        TargetClaims.Claimant(run: execution.number, position: position)
    }

    /// Finds the target of a body if the manifest lets the server choose the name.
    func name(_ position: Int, _ body: ReceivedBody) {
        let step = plan.steps[position]
        let target = Result { () throws(MirrorError) in
            let target = try plan.targetNamed(by: body, for: step)
            try engine.claims.reserve(
                target, for: step.target, by: claimant(position), in: engine.root)
            if let source = plan.resource(of: step)?.primary.url {
                try engine.index.changes.rememberServerName(
                    owner: plan.manifests[step.manifest].owner, folder: step.target.folder,
                    source: SourceKey(source), target: target)
            }
            return target
        }
        machine.take(.named(position, body, target), at: moment)
    }
}
