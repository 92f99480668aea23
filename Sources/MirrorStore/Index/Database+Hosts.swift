internal import MirrorModel

/// The limits that earlier runs learned: a row of `meta` for each host, named after it.
extension Database {
    private static let prefix = "host "
    /// How many hosts are remembered: those that were asked last.
    private static let mostHosts = 256

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
                $0.add(Database.prefix + host.description)
                $0.add("\(number) \(now.seconds)")
            }
        }
        let rows = try hostRows().map { row in
            (key: row.key, seconds: row.value.split(separator: " ").last.flatMap { Int64($0) } ?? 0)
        }
        let old = rows.sorted { $0.seconds > $1.seconds }.dropFirst(Database.mostHosts)
        for row in old {
            try execute("DELETE FROM meta WHERE key = ?") { $0.add(Database.prefix + row.key) }
        }
    }

    private mutating func hostRows() throws(IndexError) -> [(key: String, value: String)] {
        try all("SELECT substr(key, 6), value FROM meta WHERE key >= 'host ' AND key < 'host!'") {
            (row: inout Row) throws(IndexError) in
            (key: try row.text(), value: try row.text())
        }
    }
}
