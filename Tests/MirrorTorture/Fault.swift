internal import MirrorTestSupport

/// A system call and the error that it gives.
struct Fault: CustomStringConvertible {
    let call: String
    let error: String
    /// The exit codes that may follow.
    let exits: Set<Int32>
    /// Whether it is an error that nothing gives for ever: every third call has it instead.
    let passes: Bool
    /// Whether it is tried once only.
    let isSingle: Bool
    /// Whether only the first call is made to fail.
    let isFirst: Bool

    init(
        _ call: String, _ error: String, _ exits: Set<Int32> = [0, 1, 74], passes: Bool = false,
        isSingle: Bool = false, isFirst: Bool = false
    ) {
        self.call = call
        self.error = error
        self.exits = exits
        self.passes = passes
        self.isSingle = isSingle
        self.isFirst = isFirst
    }

    var description: String { "\(call) \(error)" }

    /// What strace is told.
    func injection(when: String) -> String { "\(call):error=\(error):when=\(when)" }

    /// When it is made to fail: the first, some in the middle, and for ever.
    func moments(of most: Int) -> [String] {
        guard most > 0 else { return [] }
        if isFirst { return ["1"] }
        let single = Set([1, 2, most / 4, most / 2, most * 3 / 4, most]).filter { $0 > 0 }
        if isSingle { return single.sorted().map(String.init) }
        let lasting =
            passes ? ["1+3"] : Set([1, most / 2]).filter { $0 > 0 }.sorted().map { "\($0)+" }
        return single.sorted().map(String.init) + lasting
    }

    /// All pairs.
    static let all: [Fault] =
        ["openat", "openat2"].flatMap { call in
            ["EMFILE", "ENFILE", "EACCES", "EROFS", "ENOSPC", "ELOOP", "EIO", "ENOMEM"].map {
                Fault(call, $0, [0, 1, 66, 69, 73, 74])
            } + [Fault(call, "EINTR", [0, 1, 66, 69, 73, 74], passes: true)]
        }
        + ["EIO", "ENOSPC", "EDQUOT", "EFBIG"].map { Fault("pwrite64", $0, [0, 1, 73, 74]) }
        + [Fault("pwrite64", "EINTR", passes: true)]
        + ["EIO", "ENOSPC"].map { Fault("write", $0) }
        + [Fault("read", "EIO", [0, 1, 66, 69, 74]), Fault("read", "EINTR", passes: true)]
        + [Fault("pread64", "EIO", [0, 1, 66, 74]), Fault("pread64", "EINTR", passes: true)]
        + ["fsync", "fdatasync", "syncfs"].flatMap { call in
            ["EIO", "ENOSPC", "EDQUOT"].map { Fault(call, $0) }
        }
        + ["EIO", "ENOSPC", "EINVAL", "EXDEV", "EACCES", "EBUSY"].map { Fault("renameat2", $0) }
        + ["EPERM", "EMLINK", "EIO"].map { Fault("linkat", $0) }
        + ["unlinkat", "unlink"].flatMap { call in
            ["EIO", "EACCES", "EBUSY"].map { Fault(call, $0) }
        }
        + ["ENOSPC", "EROFS", "EACCES", "EMLINK"].map { Fault("mkdirat", $0, [0, 1, 73, 74]) }
        + ["fchmod", "utimensat"].flatMap { call in ["EPERM", "EIO"].map { Fault(call, $0) } }
        + [
            // The first of a run is the root's lock, and without that nothing is done.
            Fault("flock", "ENOLCK", [73], isFirst: true), Fault("flock", "EINTR", passes: true),
        ]
        + ["statx", "newfstatat", "fstat"].flatMap { call in
            ["EIO", "ENOMEM"].map { Fault(call, $0, [0, 1, 66, 69, 73, 74]) }
        }
        + [Fault("getdents64", "EIO", [0, 73, 74])]
        + ["EXDEV", "EIO", "EINVAL", "ENOSPC", "EOPNOTSUPP"].map { Fault("copy_file_range", $0) }
        + ["EOPNOTSUPP", "EIO", "EINVAL"].map { Fault("ioctl", $0) }
        + ["EIO", "EINVAL"].map { Fault("ftruncate", $0, [0, 1, 73, 74]) }
        + ["EOPNOTSUPP", "ENOSPC", "EIO"].map { Fault("fallocate", $0) }
        + ["ENOLCK", "EIO"].map { Fault("fcntl", $0, [0, 1, 69, 73, 74]) }
        + ["mmap", "mprotect"].map {
            // For ever, it ends any Swift program in its allocator; and brk(2) gives the C library the
            // place that it has, whatever it is asked for: it has no error that could be given.
            Fault($0, "ENOMEM", [0, 1, 69, 73, 74], isSingle: true)
        }
        + ["clone3", "clone"].map { Fault($0, "EAGAIN", [0, 1, 69, 73, 74]) }
        + ["EMFILE", "ENFILE", "ENOBUFS"].map { Fault("socket", $0, [0, 69, 74]) }
        + ["ECONNREFUSED", "ENETUNREACH", "EADDRNOTAVAIL"].map { Fault("connect", $0, [0, 69]) }
        + [Fault("recvfrom", "ECONNRESET", [0, 69]), Fault("recvfrom", "ENOMEM", [0, 69])]
        + [Fault("sendto", "EPIPE", [0, 69]), Fault("sendto", "ECONNRESET", [0, 69])]
        + [Fault("poll", "EINTR", passes: true), Fault("poll", "ENOMEM", [0, 69, 74])]
        + [Fault("getrandom", "EINTR", passes: true), Fault("getrandom", "ENOSYS")]
        + [Fault("eventfd2", "EMFILE", [0, 69, 74]), Fault("socketpair", "EMFILE", [0, 69, 74])]
        + [Fault("fstatfs", "EIO", [0, 73, 74]), Fault("statfs", "EIO", [0, 73, 74])]
        + [Fault("readlink", "EIO", [0, 73, 74]), Fault("lseek", "EIO", [0, 1, 66, 73, 74])]
        + [Fault("close", "EIO"), Fault("fadvise64", "EINVAL")]
        + [Fault("signalfd4", "EMFILE", [0, 74]), Fault("munmap", "EINVAL")]
}
