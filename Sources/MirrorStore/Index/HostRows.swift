internal import MirrorModel

/// The limits that earlier runs learned: a row of `meta` for each host, named after it.
enum HostRows {
    private static let prefix = "host "
    /// How many hosts are remembered: those that were asked last.
    private static let mostHosts = 256

    /// The number of transfers at once that suited each host.
    static func learnedLimits(in database: inout Database) throws(IndexError) -> [Host: Int] {
        var limits: [Host: Int] = [:]
        for (key, value) in try rows(in: &database) {
            let number = value.split(separator: " ").first.flatMap { Int($0) }
            guard let host = Host(key), let number else { continue }
            limits[host] = number
        }
        return limits
    }

    /// Remembers the learned limits, which replace earlier ones.
    static func put(
        learnedLimits limits: [Host: Int], at now: Instant, in database: inout Database
    ) throws(IndexError) {
        for (host, number) in limits {
            try database.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)") {
                $0.add(prefix + host.description)
                $0.add("\(number) \(now.seconds)")
            }
        }
        let rows = try rows(in: &database).map { row in
            (key: row.key, seconds: row.value.split(separator: " ").last.flatMap { Int64($0) } ?? 0)
        }
        let old = rows.sorted { $0.seconds > $1.seconds }.dropFirst(mostHosts)
        for row in old {
            try database.execute("DELETE FROM meta WHERE key = ?") { $0.add(prefix + row.key) }
        }
    }

    private static func rows(in database: inout Database) throws(IndexError) -> [(
        key: String, value: String
    )] {
        try database.all(
            "SELECT substr(key, 6), value FROM meta WHERE key >= 'host ' AND key < 'host!'"
        ) {
            (row: inout Row) throws(IndexError) in
            (key: try row.text(), value: try row.text())
        }
    }
}
