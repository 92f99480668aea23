internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// A set whose journal was committed, on its way to its final names.
///
/// Nothing is given up any more: what cannot be done now stays in the journal, and the next run does it.
struct CommittedSet {
    private let set: SetLanding
    private var group: PromotionGroup
    /// The new folder; nil where the files are renamed one by one.
    private var exchange: FolderExchange?
    private let journal: SetJournal

    /// Takes over what was prepared.
    init(
        set: SetLanding, group: PromotionGroup, exchange: FolderExchange?, journal: SetJournal
    ) {
        self.set = set
        self.group = group
        self.exchange = exchange
        self.journal = journal
    }

    /// Gives all files their final names, removes the orphans, and has the index say so.
    mutating func carryOut() throws(PromotionFault) -> SetResult {
        try group.reached(.committed)
        if exchange != nil, try !exchangeFolder() { try exchange.giveUp(journal, in: &group) }
        if exchange == nil { try rename() }
        try group.reached(.placed)
        try group.flush(.names)
        try group.reached(.flushedNames)
        let stayed = try remove()
        if !set.removals.isEmpty { try group.flush(.names) }
        var rows = SetRows(journal: journal.id)
        rows.removed = set.removals.filter { departure in
            departure.position.map { stayed[$0] == nil } ?? true
        }.map(\.removal.target)
        try settleOldFolder()
        group.cleanUp()
        restamp(&rows)
        for departure in set.removals {
            group.folders.removeEmpty(above: departure.removal.target)
        }
        try group.reached(.cleaned)
        try group.record(setRows: rows)
        try group.reached(.indexed)
        return result(stayed)
    }

    /// Gives each file its final name.
    private mutating func rename() throws(PromotionFault) {
        let placement = group.placement
        for case let item? in group.staged {
            let target = item.landing.target
            do {
                // Somebody may have removed it since the commit.
                _ = try group.folders.cache.make(target.folder)
                try group.place(item, placement)
            } catch { throw PromotionFault(error, at: target) }
        }
    }

    /// Puts the new folder in the place of the old one; false where they cannot be exchanged.
    private mutating func exchangeFolder() throws(PromotionFault) -> Bool {
        guard let exchange, group.environment.probe.allowsExchange else { return false }
        do throws(Errno) {
            try FolderExchange.perform(exchange.aside, with: exchange.folder, &group.folders.cache)
        } catch {
            // The new folder stays for the next run, which exchanges it when the name is a folder's.
            if [ENOTDIR, ELOOP].contains(error.number) { throw .failed(MirrorError(error)) }
            return false
        }
        try group.reached(.exchangedFolder)
        group.folders.touch(PathText.folder(of: exchange.folder))
        group.folders.touch(Area.tmp.rawValue)
        for at in group.staged.indices {
            guard let item = group.staged[at] else { continue }
            let target = item.landing.target
            do {
                guard let status = try group.folders.cache.entry(target.path).status() else {
                    throw Errno(number: ENOENT, call: "statx", path: target.path)
                }
                item.placed = Placed(
                    stamp: item.recordedStamp(of: status.stamp),
                    conflict: exchange.conflicts[at], leftover: item.path)
            } catch { throw PromotionFault(error, at: target) }
        }
        return true
    }

    /// Removes the orphans; gives back those that somebody edited, by the positions of their steps.
    private mutating func remove() throws(PromotionFault) -> [Int: MirrorError] {
        var stayed: [Int: MirrorError] = [:]
        for departure in set.removals {
            do throws(MirrorError) { try group.remove(departure.removal) } catch {
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
        group.folders.cache.drop()
        if touched.isEmpty { return }
        for path in touched { group.folders.touch(path) }
        try group.flush(.names)
    }

    /// Takes the stamps of what the new folder holds: a name less changes a file's ctime.
    private mutating func restamp(_ rows: inout SetRows) {
        guard let exchange else { return }
        for (at, item) in group.staged.enumerated() {
            guard let item, let placed = item.placed else { continue }
            let path = set.landings[at].landing.target.path
            guard let status = try? group.folders.cache.entry(path).status() else { continue }
            item.placed = Placed(
                stamp: item.recordedStamp(of: status.stamp),
                conflict: exchange.conflicts[at] ?? placed.conflict)
        }
        rows.restamped = exchange.stamps(&group.folders.cache)
    }

    private mutating func result(_ stayed: [Int: MirrorError]) -> SetResult {
        var landed: [Int: LandingResult] = [:]
        for (at, member) in set.landings.enumerated() {
            guard let placed = group.staged[at]?.placed else { continue }
            landed[member.position] = .landed(
                member.landing, placed.stamp, conflict: placed.conflict)
        }
        let restamped = exchange?.stamps(of: set.staying, &group.folders.cache)
        return .promoted(
            .init(
                landed: landed, stayed: stayed, restamped: restamped ?? [:],
                way: exchange == nil ? .rename : .exchange, kept: exchange?.kept ?? []))
    }
}
