@testable import MirrorKit
import Testing

/// Every cell of the table against the oracle, and promises that hold in all of them.
@Suite struct ReconcilerTableTests {
    @Test(arguments: DecisionCell.Wish.allCases)
    func everyCellIsDecidedAsPromised(wish: DecisionCell.Wish) throws {
        let cells = DecisionCell.all(of: wish)
        #expect(cells.count >= 600)
        var complaints: [String] = []
        for cell in cells {
            let decision = try cell.reconciler().step(for: cell.situation(), now: DecisionCell.now)
            let expected = DecisionOracle(cell)
            let actual = try DecisionOracle(decision, in: cell)
            if actual != expected { complaints.append("\(cell): \(actual), wanted \(expected)") }
        }
        #expect(complaints.isEmpty, "\(complaints.count): \(complaints.prefix(12))")
    }

    /// Bytes that someone else wrote survive in place, or the decision says that they are foreign.
    @Test(arguments: DecisionCell.Wish.allCases)
    func plansNeverDestroyUntrackedBytes(wish: DecisionCell.Wish) throws {
        for cell in DecisionCell.all(of: wish) where cell.present != nil {
            let isStranger = cell.index == .nothing
            let isEdit = cell.present != .recorded && cell.area == .documents
            guard isStranger || isEdit else { continue }
            let decision = try cell.reconciler().step(for: cell.situation(), now: DecisionCell.now)
            switch (decision.existing, decision.means) {
            case (.foreign, _), (_, .nothing), (_, .adoption): break
            default: Issue.record("\(cell): \(decision)")
            }
        }
    }

    @Test(arguments: DecisionCell.Wish.allCases)
    func aConditionSpeaksOfTheRecordedVersionOnly(wish: DecisionCell.Wish) throws {
        for cell in DecisionCell.all(of: wish) {
            let situation = try cell.situation()
            let decision = try cell.reconciler().step(for: situation, now: DecisionCell.now)
            guard case .transfer(_, let local?) = decision.means else { continue }
            #expect(local.sha256 == situation.record?.sha256)
            #expect(local.validators == situation.record?.validators)
            #expect(decision.kind == .revalidate || decision.kind == .edited, "\(cell)")
        }
    }

    @Test(arguments: DecisionCell.Wish.allCases)
    func aPresentPinnedFileNeedsNoNetwork(wish: DecisionCell.Wish) throws {
        for cell in DecisionCell.all(of: wish) where cell.option != .refetched {
            guard cell.wanted != nil, cell.present == cell.wanted, cell.declaredSize == nil else {
                continue
            }
            let decision = try cell.reconciler().step(for: cell.situation(), now: DecisionCell.now)
            #expect(decision.kind == .keep, "\(cell)")
        }
    }

    /// What is adopted is what was read, and what is kept untouched is what the row says.
    @Test(arguments: DecisionCell.Wish.allCases)
    func anAdoptionNamesTheBytesThatAreThere(wish: DecisionCell.Wish) throws {
        for cell in DecisionCell.all(of: wish) {
            let decision = try cell.reconciler().step(for: cell.situation(), now: DecisionCell.now)
            guard case .adoption(let sha256) = decision.means else { continue }
            let present = try #require(cell.present)
            #expect(sha256 == (try present.digest(.sha256)), "\(cell)")
            guard case .ours(let stamp, sha256) = decision.existing else {
                Issue.record("\(cell): \(decision.existing)")
                continue
            }
            let isAsRecorded = cell.tree == .intact && cell.index == .row
            #expect(stamp == DecisionCell.stamp(present, inode: isAsRecorded ? 7 : 8))
        }
    }
}
