internal import Glibc

/// How many files this process may have open (getrlimit(2), RLIMIT_NOFILE).
package enum OpenFileLimit {
    package static var current: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 1024
        }
        return Int(clamping: limit.rlim_cur)
    }
}
