/// A run as the index remembers it: its times, its exit code and its summary.
struct RunRecord: Sendable, Hashable {
    /// The run's identifier: unique, and sorted by time.
    var id: String
    /// When the run began.
    var startedAt: Instant
    /// When the run ended. `nil` means that the run is under way or was killed.
    var endedAt: Instant?
    /// The run's exit code.
    var exit: Int32?
    /// The run's summary, as JSON.
    var summary: String?
}

/// Rows of `runs`: when each of the latest runs began and ended, and its result.
extension Database {
    /// The runs, the earliest id first.
    mutating func runs() throws(IndexError) -> [RunRecord] {
        try all("SELECT id, started_at, ended_at, exit, summary FROM runs ORDER BY id") {
            (row: inout Row) throws(IndexError) in
            RunRecord(
                id: try row.text(), startedAt: Instant(milliseconds: try row.int()),
                endedAt: try row.optionalInstant(),
                exit: try row.optionalInt().map { Int32(truncatingIfNeeded: $0) },
                summary: try row.optionalText())
        }
    }

    /// Writes a run's row, and removes all rows but the latest hundred.
    mutating func put(_ run: RunRecord) throws(IndexError) {
        try execute(
            """
            INSERT OR REPLACE INTO runs (id, started_at, ended_at, exit, summary) \
            VALUES (?, ?, ?, ?, ?)
            """
        ) {
            $0.add(run.id)
            $0.add(run.startedAt.milliseconds)
            $0.add(run.endedAt?.milliseconds)
            $0.add(run.exit.map { Int64($0) })
            $0.add(run.summary)
        }
        try execute(
            "DELETE FROM runs WHERE id NOT IN (SELECT id FROM runs ORDER BY id DESC LIMIT 100)")
    }
}

/// The account of the budget: a row of `meta` with the begin of the period and the bytes spent.
extension Database {
    /// The account of the budget. Returns nil if no run has had a budget.
    ///
    /// - Parameter schema: the name of the database, if others are attached.
    mutating func budgetAccount(in schema: String = "main") throws(IndexError) -> BudgetAccount? {
        let text = try first("SELECT value FROM \(schema).meta WHERE key = 'budget'") { _ in
        } read: { (row: inout Row) throws(IndexError) in
            try row.text()
        }
        let numbers = (text ?? "").split(separator: " ").compactMap { Int64($0) }
        guard numbers.count == 2 else { return nil }
        return BudgetAccount(start: Instant(milliseconds: numbers[0]), spent: max(0, numbers[1]))
    }

    /// Adds bytes to what was spent since a period began. An account of another period is replaced.
    mutating func chargeBudget(
        _ bytes: Int64, since start: Instant
    ) throws(IndexError) -> BudgetAccount {
        let known = try budgetAccount().flatMap { $0.start == start ? $0.spent : nil }
        let account = BudgetAccount(start: start, spent: (known ?? 0).addingSaturated(bytes))
        try execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('budget', ?)") {
            $0.add("\(account.start.milliseconds) \(account.spent)")
        }
        return account
    }
}

private let prefix = "host "
/// The number of hosts to remember: the hosts whose limits were learned last.
private let mostHosts = 256

/// The limits that earlier runs learned: one row of `meta` for each host.
extension Database {
    /// The number of transfers at once that suited each host.
    mutating func learnedLimits() throws(IndexError) -> [Host: Int] {
        var limits: [Host: Int] = [:]
        for (key, value) in try hostRows() {
            let number = value.split(separator: " ").first.flatMap { Int($0) }
            guard let host = Host(key), let number else { continue }
            limits[host] = number
        }
        return limits
    }

    /// Remembers the learned limits, which replace earlier ones.
    mutating func put(learnedLimits limits: [Host: Int], at now: Instant) throws(IndexError) {
        for (host, number) in limits {
            try execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)") {
                $0.add(prefix + host.description)
                $0.add("\(number) \(now.seconds)")
            }
        }
        let rows = try hostRows().map { row in
            (key: row.key, seconds: row.value.split(separator: " ").last.flatMap { Int64($0) } ?? 0)
        }
        let old = rows.sorted { $0.seconds > $1.seconds }.dropFirst(mostHosts)
        for row in old {
            try execute("DELETE FROM meta WHERE key = ?") { $0.add(prefix + row.key) }
        }
    }

    private mutating func hostRows() throws(IndexError) -> [(
        key: String, value: String
    )] {
        try all(
            "SELECT substr(key, 6), value FROM meta WHERE key >= 'host ' AND key < 'host!'"
        ) {
            (row: inout Row) throws(IndexError) in
            (key: try row.text(), value: try row.text())
        }
    }
}

/// Rows of `evicted`: files that were left out of Caches or tmp for lack of space.
extension Database {
    /// All files that are left out, in the order of their paths' bytes.
    mutating func evictedFiles() throws(IndexError) -> [EvictedFile] {
        try all("SELECT path, size, used_at FROM evicted ORDER BY path") {
            (row: inout Row) throws(IndexError) in
            EvictedFile(
                target: try row.target(), size: try row.optionalInt(),
                lastUse: Instant(milliseconds: try row.int()))
        }
    }

    /// Remembers that a file was left out.
    mutating func put(_ file: EvictedFile) throws(IndexError) {
        try execute(
            "INSERT OR REPLACE INTO evicted (path, size, used_at) VALUES (?, ?, ?)"
        ) {
            $0.add(file.target.path)
            $0.add(file.size)
            $0.add(file.lastUse.milliseconds)
        }
    }

    /// Forgets that a file was left out.
    mutating func removeEvicted(_ target: Target) throws(IndexError) {
        try execute("DELETE FROM evicted WHERE path = ?") { $0.add(target.path) }
    }
}

/// The sizes of files that found no room on the disk: rows of `meta` with the paths in their keys.
extension Database {
    private static var sizePrefix: String { "size " }

    /// All sizes, in the order of the paths' bytes.
    mutating func learnedSizes() throws(IndexError) -> [(target: Target, size: Int64)] {
        let rows = try all(
            "SELECT substr(key, 6), value FROM meta WHERE key >= 'size ' AND key < 'size!'"
        ) { (row: inout Row) throws(IndexError) in
            (target: try row.target(), size: Int64(try row.text()))
        }
        return rows.compactMap { row in row.size.map { (row.target, $0) } }
    }

    /// Remembers the size of a file.
    mutating func put(size: Int64, of target: Target) throws(IndexError) {
        try execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)") {
            $0.add(Self.sizePrefix + target.path)
            $0.add("\(size)")
        }
    }

    /// Forgets the size of a file.
    mutating func forgetSize(of target: Target) throws(IndexError) {
        try execute("DELETE FROM meta WHERE key = ?") { $0.add(Self.sizePrefix + target.path) }
    }
}
