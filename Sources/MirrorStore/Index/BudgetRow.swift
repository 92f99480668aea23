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

    /// Adds bytes to what was spent since a period began; an account of another period is replaced.
    static func charge(
        _ bytes: Int64, since start: Instant, in database: inout Database
    ) throws(IndexError) -> BudgetAccount {
        let known = try account(in: &database).flatMap { $0.start == start ? $0.spent : nil }
        let account = BudgetAccount(start: start, spent: (known ?? 0).addingSaturated(bytes))
        try database.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('budget', ?)") {
            $0.add("\(account.start.milliseconds) \(account.spent)")
        }
        return account
    }
}
