/// What the threads of a process do (proc(5), the third field of `stat`).
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
        let tasks = Folder("/proc/\(pid)/task")
        return tasks.names(in: "").compactMap { thread in
            // The name of the program stands before it, in parentheses, and may have some itself.
            let words = String(decoding: tasks.read("\(thread)/stat") ?? [], as: UTF8.self)
            return words.lastIndex(of: ")").flatMap { words[$0...].dropFirst(2).first }
        }
    }
}
