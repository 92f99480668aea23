internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// What follows the commit of a set's journal. Nothing is given up any more: what cannot be done now
/// stays in the journal, and the next run does it.
extension SetPromotion {
    mutating func carryOut() throws(PromotionFault) -> SetResult {
        if exchange != nil, try !exchangeFolder() { try renameInstead() }
        if exchange == nil { try rename() }
        try batch.reached(.placed)
        try batch.flush(.names)
        try batch.reached(.flushedNames)
        let stayed = try remove()
        if !set.removals.isEmpty { try batch.flush(.names) }
        var rows = SetRows(journal: journal.id)
        rows.removed = set.removals.filter { departure in
            departure.position.map { stayed[$0] == nil } ?? true
        }.map(\.removal.target)
        try settleOldFolder()
        batch.cleanUp()
        restamp(&rows)
        for departure in set.removals {
            batch.removeEmptyFolders(above: departure.removal.target)
        }
        try batch.reached(.cleaned)
        batch.setRows = rows
        try batch.record()
        try batch.flush(.rows)
        try batch.reached(.indexed)
        return result(stayed)
    }

    /// Gives each file its final name.
    private mutating func rename() throws(PromotionFault) {
        for at in batch.staged.indices {
            guard let item = batch.staged[at] else { continue }
            let target = item.landing.target
            do {
                // Somebody may have removed it since the commit.
                _ = try batch.folders.make(target.folder)
                try batch.place(item, at, placement)
            } catch { throw PromotionFault(error, at: target) }
        }
    }

    /// Puts the new folder in the place of the old one; false where they cannot be exchanged.
    private mutating func exchangeFolder() throws(PromotionFault) -> Bool {
        guard let exchange, batch.probe.allowsExchange else { return false }
        do throws(Errno) {
            try FolderExchange.perform(exchange.aside, with: exchange.folder, &batch.folders)
        } catch {
            // The new folder stays for the next run, which exchanges it when the name is a folder's.
            if [ENOTDIR, ELOOP].contains(error.number) { throw .failed(MirrorError(error)) }
            return false
        }
        try batch.reached(.exchangedFolder)
        batch.touch(PathText.folder(of: exchange.folder))
        batch.touch(Area.tmp.rawValue)
        for at in batch.staged.indices {
            guard let item = batch.staged[at] else { continue }
            let target = item.landing.target
            do {
                guard let status = try batch.folders.entry(target.path).status() else {
                    throw Errno(number: ENOENT, call: "statx", path: target.path)
                }
                item.placed = Placed(
                    stamp: status.stamp, conflict: exchange.conflicts[at], leftover: item.path)
            } catch { throw PromotionFault(error, at: target) }
        }
        return true
    }

    /// Removes the orphans; gives back those that somebody edited, by the positions of their steps.
    private mutating func remove() throws(PromotionFault) -> [Int: MirrorError] {
        var stayed: [Int: MirrorError] = [:]
        for departure in set.removals {
            do throws(MirrorError) { try batch.remove(departure.removal) } catch {
                guard error.code == .conflict else { throw .failed(error) }
                if let position = departure.position { stayed[position] = error }
            }
        }
        return stayed
    }

    /// Removes what the exchange brought out, and gives other people's files their names again.
    private mutating func settleOldFolder() throws(PromotionFault) {
        guard exchange != nil else { return }
        let touched: Set<String>
        do { touched = try exchange?.settle() ?? [] } catch {
            throw PromotionFault(error, at: nil)
        }
        batch.folders.drop()
        if touched.isEmpty { return }
        for path in touched { batch.touch(path) }
        try batch.flush(.names)
    }

    /// Takes the stamps of what the new folder holds: a name less changes a file's ctime.
    private mutating func restamp(_ rows: inout SetRows) {
        guard let exchange else { return }
        for (at, item) in batch.staged.enumerated() {
            guard let item, let placed = item.placed else { continue }
            let path = set.landings[at].landing.target.path
            guard let status = try? batch.folders.entry(path).status() else { continue }
            item.placed = Placed(
                stamp: status.stamp, conflict: exchange.conflicts[at] ?? placed.conflict)
        }
        rows.restamped = exchange.stamps(&batch.folders)
    }

    private func result(_ stayed: [Int: MirrorError]) -> SetResult {
        var landed: [Int: LandingResult] = [:]
        for (at, member) in set.landings.enumerated() {
            guard let placed = batch.staged[at]?.placed else { continue }
            landed[member.position] = .landed(
                member.landing, placed.stamp, conflict: placed.conflict)
        }
        return .promoted(
            .init(
                landed: landed, stayed: stayed, way: exchange == nil ? .rename : .exchange,
                kept: exchange?.kept ?? []))
    }
}

extension PromotionFault {
    /// What stopped a promotion that cannot be undone any more.
    init(_ error: any Error, at target: Target?) {
        switch error {
        case let fault as PromotionFault: self = fault
        case let error as Errno: self = .failed(MirrorError(error, target: target))
        case let error as IndexError: self = .failed(error.mirrorError)
        default:
            let place = target?.path ?? "A set"
            self = .failed(MirrorError(.internalError, "\(place): \(error)", target: target))
        }
    }
}
