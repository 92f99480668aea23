import Glibc

/// The program that shows a page: whatever this desktop opens web pages with.
enum Browser {
    /// It hands the page to a browser and ends, or is that browser's own process.
    private static let opener = "xdg-open"
    /// Milliseconds in which it can say that it failed.
    private static let patience = 2000

    /// Opens a file; returns a sentence that says why it cannot be opened, else nil.
    static func open(_ path: String) -> String? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        // A browser talks, and goes on when this program has ended.
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        var pid = pid_t()
        let number = Spawn.start([opener, path], &actions, Spawn.variables(), &pid)
        if number == ENOENT {
            return "\(opener) is not here, so the page was not opened. Open it in a browser."
        }
        guard number == 0 else {
            return "\(opener) cannot be started: \(String(cString: strerror(number)))."
        }
        for _ in 0..<(patience / 10) {
            var status: Int32 = 0
            guard waitpid(pid, &status, WNOHANG) == pid else {
                usleep(10_000)
                continue
            }
            return status == 0
                ? nil : "\(opener) could not open the page. Open it in a browser."
        }
        return nil
    }
}
