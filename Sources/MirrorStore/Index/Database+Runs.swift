internal import MirrorModel

/// Rows of `runs` and `server_names`, which outlive a run.
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

    /// The target that was fixed for a server's suggestion; nil when there was none yet.
    mutating func serverName(
        owner: String, folder: String, source: SourceKey
    ) throws(IndexError) -> Target? {
        try first(
            "SELECT path FROM server_names WHERE owner = ? AND folder = ? AND source = ?"
        ) {
            $0.add(owner)
            $0.add(folder)
            $0.add(source.text)
        } read: { (row: inout Row) throws(IndexError) in
            try row.target()
        }
    }

    /// Fixes the target for a server's suggestion.
    mutating func putServerName(
        _ target: Target, owner: String, folder: String, source: SourceKey
    ) throws(IndexError) {
        try execute(
            """
            INSERT OR REPLACE INTO server_names (owner, folder, source, path) VALUES (?, ?, ?, ?)
            """
        ) {
            $0.add(owner)
            $0.add(folder)
            $0.add(source.text)
            $0.add(target.path)
        }
    }
}
