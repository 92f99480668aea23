import Testing

@testable import MirrorKit

@Suite struct TransferPermissionTests {
    private let night = LocalZone.at("2026-06-01T02:00:00Z")
    private let noon = LocalZone.at("2026-06-01T12:00:00Z")
    private let permission: TransferPermission

    init() {
        var permission = TransferPermission()
        permission.windows = DailyWindows(text: "01:00-06:00")
        permission.needsUnmeteredNetwork = true
        permission.budget = TransferBudget(text: "100/day")
        self.permission = permission
    }

    @Test func withoutAConditionTransfersMayAlwaysRun() {
        let free = TransferPermission()
        #expect(free.isUnconditional)
        #expect(free.deferral(at: noon, .utc, isMetered: true, spent: .max) == nil)
        #expect(free.change(after: noon, .utc) == nil)
    }

    @Test func everyConditionHasItsReason() {
        #expect(permission.deferral(at: night, .utc, isMetered: false, spent: 99) == nil)
        #expect(
            permission.deferral(at: noon, .utc, isMetered: false, spent: 0)
                == .outsideWindow(opens: LocalZone.at("2026-06-02T01:00:00Z")))
        #expect(permission.deferral(at: night, .utc, isMetered: true, spent: 0) == .meteredNetwork)
        #expect(
            permission.deferral(at: night, .utc, isMetered: false, spent: 100)
                == .budgetSpent(renews: LocalZone.at("2026-06-02T00:00:00Z")))
    }

    @Test func theNearestOfWindowAndBudgetDecides() {
        #expect(permission.change(after: night, .utc) == LocalZone.at("2026-06-01T06:00:00Z"))
        #expect(permission.change(after: noon, .utc) == LocalZone.at("2026-06-02T00:00:00Z"))
    }

    @Test func statusTellsWhatIsLeftAndUntilWhen() throws {
        let budget = try #require(permission.budget)
        let account = BudgetAccount(start: budget.start(at: night, .utc), spent: 40)
        let status = PermissionStatus(
            of: permission, at: night, .utc, isMetered: true, account: account)
        #expect(status.deferral == .meteredNetwork)
        #expect(status.budget?.left == 60)
        let words = status.sentences(on: LocalClock(now: night, offset: .utc))
        #expect(
            words == [
                "A sync now would defer what is not urgent: the network is metered.",
                "Budget: 60 B of 100 B left until 2026-06-02 00:00.",
            ])
    }

    @Test func noMoreThanNothingIsLeft() {
        let account = BudgetAccount(start: LocalZone.at("2026-06-01T00:00:00Z"), spent: 400)
        let status = PermissionStatus(
            of: permission, at: night, .utc, isMetered: false, account: account)
        #expect(status.budget?.left == 0)
    }
}
