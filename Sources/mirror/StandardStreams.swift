import Glibc

/// Descriptors 0, 1 and 2, in whichever state the caller left them.
enum StandardStreams {
    /// Opens a placeholder for each descriptor that is closed.
    ///
    /// A file that is opened later would get the lowest free number, and with number 1 the report
    /// would be written into it. A placeholder can neither be written to nor be read as a file, so
    /// a report to it fails as it should (EBADF). Call this function before any file is opened.
    static func fillGaps() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where fcntl(number, F_GETFD) == -1 {
            // Not close-on-exec: a child would have the same gap.
            _ = open("/", O_RDONLY | O_DIRECTORY)
        }
    }
}
