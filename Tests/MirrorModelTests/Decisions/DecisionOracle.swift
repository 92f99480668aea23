@testable import MirrorKit

/// What must be decided for a cell, told from the promises that users rely on.
///
/// It knows versions, not digests or stamps, and shares no code with the reconciler.
struct DecisionOracle: Equatable, CustomStringConvertible {
    /// Where bytes come from.
    enum Bringing: Equatable {
        case nothing, adoption, copyOfLocalSource, copyOfOrphan, renamedOrphan
        case network(fromPart: Bool, isConditional: Bool)
    }
    /// What becomes of what is there.
    enum Occupancy { case nothing, ours, drifted, foreign, obstacle }

    var kind: Step.Kind
    var bringing: Bringing
    var occupancy: Occupancy

    var description: String { "\(kind) by \(bringing) over \(occupancy)" }

    private init(_ kind: Step.Kind, _ bringing: Bringing, _ occupancy: Occupancy) {
        self.kind = kind
        self.bringing = bringing
        self.occupancy = occupancy
    }
}

extension DecisionOracle {
    /// The first of these that holds decides.
    init(_ cell: DecisionCell) {
        if cell.tree == .folder {
            // mirror replaces regular files only.
            self.init(.conflict, .nothing, .obstacle)
        } else if cell.option == .refetched {
            // Treated as not there, and brought from its source; what is there stays safe.
            self.init(
                .fetch, .network(fromPart: false, isConditional: false),
                cell.present == nil ? .nothing : Self.occupancy(cell))
        } else if cell.tree == .absent {
            self = Self.notThere(cell)
        } else if cell.index == .nothing {
            self = Self.untracked(cell)
        } else if cell.present == .recorded {
            self = Self.asWePutIt(cell)
        } else {
            self = Self.drifted(cell)
        }
    }

    private static func untracked(_ cell: DecisionCell) -> DecisionOracle {
        if holdsWanted(cell) { return DecisionOracle(.keep, .adoption, .ours) }
        // Of an unpinned file only the size may tell that it is another one.
        let isOther = cell.wanted != nil || cell.declaredSize != nil
        return isOther
            ? DecisionOracle(.conflict, brought(cell), .foreign)
            : DecisionOracle(.fetch, fetched(cell), .foreign)
    }

    private static func drifted(_ cell: DecisionCell) -> DecisionOracle {
        if holdsWanted(cell) { return DecisionOracle(.keep, .adoption, .ours) }
        guard cell.area == .documents else {
            return DecisionOracle(.repair, brought(cell), .drifted)
        }
        if wantsAnotherVersion(cell) || cell.wish == .sha512UnknownToRow {
            return DecisionOracle(.conflict, brought(cell), .foreign)
        }
        return DecisionOracle(
            .edited, isDue(cell) ? fetched(cell, isConditional: true) : .nothing, .foreign)
    }

    private static func asWePutIt(_ cell: DecisionCell) -> DecisionOracle {
        if wantsAnotherVersion(cell) { return DecisionOracle(.update, brought(cell), .ours) }
        if isDue(cell) {
            return DecisionOracle(.revalidate, fetched(cell, isConditional: true), .ours)
        }
        // What was read to be held against a new digest is remembered, and not read again.
        let isNews = cell.tree == .touched || cell.wish == .sha512UnknownToRow
        return DecisionOracle(.keep, isNews ? .adoption : .nothing, .ours)
    }

    private static func notThere(_ cell: DecisionCell) -> DecisionOracle {
        let hasOrphan = cell.option == .prunes || cell.option == .orphan
        // The orphan is as large as its version; a declared size of 500 is another version's.
        if hasOrphan, cell.declaredSize == nil {
            return DecisionOracle(
                .move, cell.option == .prunes ? .renamedOrphan : .copyOfOrphan, .nothing)
        }
        if cell.option == .localSource {
            return DecisionOracle(.copy, .copyOfLocalSource, .nothing)
        }
        return DecisionOracle(
            cell.part == .fitting ? .resume : .fetch, fetched(cell), .nothing)
    }

    private static func occupancy(_ cell: DecisionCell) -> Occupancy {
        if cell.index == .row, cell.present == .recorded { return .ours }
        return cell.index == .row && cell.area != .documents ? .drifted : .foreign
    }

    private static func holdsWanted(_ cell: DecisionCell) -> Bool {
        cell.wanted != nil && cell.present == cell.wanted && cell.declaredSize == nil
    }

    private static func wantsAnotherVersion(_ cell: DecisionCell) -> Bool {
        switch cell.wish {
        case .pinnedToAnother, .sha512OfAnother, .pinnedWithAnotherSize,
            .unpinnedFromAnotherSource, .unpinnedOfAnotherSize:
            true
        case .pinnedToRecorded, .sha512OfRecorded, .sha512UnknownToRow, .unpinnedFresh,
            .unpinnedDue:
            false
        }
    }

    /// Pinned bytes are never asked about.
    private static func isDue(_ cell: DecisionCell) -> Bool {
        if cell.wanted != nil { return false }
        return cell.wish == .unpinnedDue || cell.option == .everythingIsDue
    }

    private static func brought(_ cell: DecisionCell) -> Bringing {
        cell.option == .localSource ? .copyOfLocalSource : fetched(cell)
    }

    private static func fetched(_ cell: DecisionCell, isConditional: Bool = false) -> Bringing {
        .network(fromPart: cell.part == .fitting, isConditional: isConditional)
    }
}

extension DecisionOracle {
    /// What was decided, in the oracle's words.
    init(_ decision: Decision, in cell: DecisionCell) throws {
        let localSource = try cell.localSourceTarget
        let orphan = try cell.orphanTarget
        kind = decision.kind
        bringing =
            switch decision.means {
            case .nothing: .nothing
            case .adoption: .adoption
            case .transfer(let part, let local):
                .network(fromPart: part != nil, isConditional: local != nil)
            case .copy(localSource): .copyOfLocalSource
            case .copy(orphan): .copyOfOrphan
            case .move(orphan): .renamedOrphan
            case .copy, .move, .removal: .nothing
            }
        occupancy =
            switch decision.existing {
            case .nothing: .nothing
            case .ours, .recorded: .ours
            case .foreign: .foreign
            case .drifted: .drifted
            case .obstacle: .obstacle
            }
    }
}
