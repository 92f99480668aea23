internal import Glibc

/// What this process holds itself.
enum ProcessMemory {
    /// The most memory that it held so far, in bytes (getrusage(2)).
    static var peak: Int {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return usage.ru_maxrss * 1024
    }
}
