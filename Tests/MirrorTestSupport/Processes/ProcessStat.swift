internal import Glibc

/// What the system says of a process or a thread in one line (proc(5), `stat`).
package struct ProcessStat {
    /// The fields from the third on. The second is the name of the program in parentheses, and may have
    /// some itself.
    private let fields: [Substring]

    /// Of a running process.
    package init?(_ pid: Int32) { self.init(in: Folder("/proc/\(pid)")) }

    /// Of a thread.
    init?(_ thread: String, of pid: Int32) { self.init(in: Folder("/proc/\(pid)/task/\(thread)")) }

    private init?(in folder: Folder) {
        let line = String(decoding: folder.read("stat") ?? [], as: UTF8.self)
        guard let end = line.lastIndex(of: ")") else { return nil }
        fields = line[end...].dropFirst().split(separator: " ")
        guard fields.count > 12 else { return nil }
    }

    /// What it does: R runs, S sleeps, D waits for a disk, T and t are stopped, Z and X have ended.
    var state: Character { fields[0].first ?? "?" }

    /// The processor time that it has used, in milliseconds (utime and stime, the 14th and 15th).
    package var processorTime: Int {
        let ticks = fields[11...12].reduce(0) { $0 + (Int($1) ?? 0) }
        return ticks * 1000 / sysconf(Int32(_SC_CLK_TCK))
    }
}
