internal import Glibc

/// What this process holds itself.
package enum ProcessMemory {
    /// The most memory that it held so far, in bytes (getrusage(2)).
    package static var peak: Int {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return usage.ru_maxrss * 1024
    }
}
