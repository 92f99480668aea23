import Testing

@testable import MirrorKit

@Suite struct TransferBudgetTests {
    @Test(arguments: ["10GiB", "10GiB/year", "/month", "10GiB/month/day", "x/day", "-1/day"])
    func textThatNamesNoBudgetIsRefused(text: String) { #expect(TransferBudget(text: text) == nil) }

    @Test(arguments: [
        ("1/day", "2026-06-03T10:00:00Z", "2026-06-02T22:00:00Z", "2026-06-03T22:00:00Z"),
        // The third of June 2026 is a Wednesday.
        ("1/week", "2026-06-03T10:00:00Z", "2026-05-31T22:00:00Z", "2026-06-07T22:00:00Z"),
        ("1/week", "2026-05-31T22:00:00Z", "2026-05-31T22:00:00Z", "2026-06-07T22:00:00Z"),
        ("1/month", "2026-06-03T10:00:00Z", "2026-05-31T22:00:00Z", "2026-06-30T22:00:00Z"),
        ("1/month", "2026-01-31T10:00:00Z", "2025-12-31T23:00:00Z", "2026-01-31T23:00:00Z"),
        ("1/month", "2026-12-31T22:59:59Z", "2026-11-30T23:00:00Z", "2026-12-31T23:00:00Z"),
        // The clocks change within the month.
        ("1/month", "2026-03-30T10:00:00Z", "2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"),
    ])
    func periodBeginsAtLocalMidnight(text: String, now: String, start: String, end: String) throws {
        let budget = try #require(TransferBudget(text: text))
        let now = LocalZone.at(now)
        #expect(budget.start(at: now, LocalZone.central) == LocalZone.at(start))
        #expect(budget.renewal(after: now, LocalZone.central) == LocalZone.at(end))
    }

    @Test func anotherPeriodBeginsWithNothingSpent() throws {
        let budget = try #require(TransferBudget(text: "100/day"))
        let today = LocalZone.at("2026-06-03T10:00:00Z")
        let account = BudgetAccount(start: budget.start(at: today, .utc), spent: 70)
        #expect(account.current(budget, at: today, .utc).spent == 70)
        let tomorrow = today.advanced(bySeconds: 86400)
        #expect(account.current(budget, at: tomorrow, .utc).spent == 0)
        let yesterday = today.advanced(bySeconds: -86400)
        #expect(account.current(budget, at: yesterday, .utc).spent == 0)
    }
}
