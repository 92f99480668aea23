internal import MirrorModel

/// The account of the budget: one row of `meta` with the period's beginning and the bytes spent.
enum BudgetRow {
    /// The account; nil when no run had a budget yet.
    static func account(in database: inout Database) throws(IndexError) -> BudgetAccount? {
        let text = try database.first("SELECT value FROM meta WHERE key = 'budget'") { _ in
        } read: { (row: inout Row) throws(IndexError) in
            try row.text()
        }
        let numbers = (text ?? "").split(separator: " ").compactMap { Int64($0) }
        guard numbers.count == 2 else { return nil }
        return BudgetAccount(start: Instant(milliseconds: numbers[0]), spent: max(0, numbers[1]))
    }

    /// Writes the account.
    static func put(_ account: BudgetAccount, in database: inout Database) throws(IndexError) {
        try database.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('budget', ?)") {
            $0.add("\(account.start.milliseconds) \(account.spent)")
        }
    }
}
