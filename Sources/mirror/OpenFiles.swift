import Glibc

/// How many files this process may have open.
///
/// Swift's runtime ends the process where it cannot open a file of its own, so that should not come
/// about in the midst of a run.
enum OpenFiles {
    /// What the program itself needs to get as far as an error that is reported.
    private static let least = 24

    /// Asks for as many as the system allows (setrlimit(2)). mirror starts no other program, which
    /// would inherit the limit and might not expect it, and waits with poll(2), which knows no
    /// greatest number.
    static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0,
            limit.rlim_cur < limit.rlim_max
        else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Why the program could not even begin; nil when it can.
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
