internal import MirrorModel

/// Rows of `runs`: when the latest runs began and ended, and how.
enum RunRows {
    /// The runs, the earliest id first.
    static func runs(in database: inout Database) throws(IndexError) -> [RunRecord] {
        try database.all("SELECT id, started_at, ended_at, exit, summary FROM runs ORDER BY id") {
            (row: inout Row) throws(IndexError) in
            RunRecord(
                id: try row.text(), startedAt: Instant(milliseconds: try row.int()),
                endedAt: try row.optionalInstant(),
                exit: try row.optionalInt().map { Int32(truncatingIfNeeded: $0) },
                summary: try row.optionalText())
        }
    }

    /// Writes a run's row, and removes all rows but the latest hundred.
    static func put(_ run: RunRecord, in database: inout Database) throws(IndexError) {
        try database.execute(
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
        try database.execute(
            "DELETE FROM runs WHERE id NOT IN (SELECT id FROM runs ORDER BY id DESC LIMIT 100)")
    }
}
