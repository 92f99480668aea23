import Glibc

/// Descriptors 0, 1 and 2, whatever the caller left of them.
enum StandardStreams {
    /// Fills the places of those that are closed.
    ///
    /// A file that is opened later would get the lowest free number, and with number 1 the report
    /// would be written into it. What fills a place can neither be written to nor be read as a file, so
    /// a report that goes there fails as it should (EBADF). Call it before anything is opened.
    static func fillGaps() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where fcntl(number, F_GETFD) == -1 {
            // Not close-on-exec: a child would have the same gap.
            _ = open("/", O_RDONLY | O_DIRECTORY)
        }
    }
}
