/// What the threads of a process do.
enum ThreadStates {
    private static let limit = 10_000

    /// Waits until each thread of a process is in one of these states, or has ended.
    ///
    /// - Throws: `StoryFailure` after ten seconds.
    static func wait(for states: Set<Character>, of pid: Int32) throws(StoryFailure) {
        let since = Milliseconds.now
        while true {
            let others = all(of: pid).filter { !states.contains($0) && !ended.contains($0) }
            if others.isEmpty { return }
            guard Milliseconds.now - since < limit else {
                throw StoryFailure("threads of \(pid) are still \(String(others.sorted()))")
            }
            Pause.milliseconds(1)
        }
    }

    private static let ended: Set<Character> = ["Z", "X"]

    private static func all(of pid: Int32) -> [Character] {
        Folder("/proc/\(pid)/task").names(in: "").compactMap { ProcessStat($0, of: pid)?.state }
    }
}
