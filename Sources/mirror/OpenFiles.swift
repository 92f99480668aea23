import Glibc

/// How many files this process may have open.
///
/// Swift's runtime ends the process where it cannot open a file of its own, so that should not
/// happen during a run.
enum OpenFiles {
    /// The number of files that the program needs until it can report an error.
    private static let least = 24

    /// Raises the limit to the highest number that the system allows (setrlimit(2)).
    ///
    /// mirror starts no other program, which would inherit the limit and might not expect it. It
    /// waits with poll(2), which has no greatest descriptor number.
    static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0,
            limit.rlim_cur < limit.rlim_max
        else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// The error number that keeps the program from starting; nil when it can start.
    static func refusal() -> Int32? {
        var files: [Int32] = []
        defer { for file in files { close(file) } }
        while files.count < least {
            let file = dup(STDIN_FILENO)
            if file < 0 { return errno }
            files.append(file)
        }
        return nil
    }
}
