internal import CLinux
internal import Glibc

/// An error number of the system, the call that gave it, and the path in that call.
package struct Errno: Error, Hashable, CustomStringConvertible {
    /// The number, as errno(3) lists them.
    let number: Int32
    /// The call, e.g. `openat2`.
    let call: String
    /// The path below the root, or as the caller gave it. Empty if the call has no path.
    let path: String

    /// Keeps the error number of a failed call.
    package init(number: Int32, call: String, path: String) {
        self.number = number
        self.call = call
        self.path = path
    }

    /// The system's text for the number, and the call.
    package var description: String { "\(String(cString: strerror(number))) (\(call))" }

    /// Whether the disk, or a quota on it, is full.
    var isNoSpace: Bool { number == ENOSPC || number == EDQUOT }

    /// Whether a person can remove what prevents this one call, such as a file in the way.
    ///
    /// False if the disk failed or is full, or if the process may have no more open files or
    /// memory.
    var isInTheWay: Bool {
        !isNoSpace && ![EIO, EBADMSG, EAGAIN, EMFILE, ENFILE, ENOMEM].contains(number)
    }
}

/// Makes a call that returns a negated error number, and repeats it while a signal interrupts it.
///
/// `retrying` must not call close(2). Linux has released the descriptor by then, so a second call
/// would close a descriptor that belongs to other code.
@discardableResult
func retrying<Value: SignedInteger>(
    _ call: StaticString, _ path: @autoclosure () -> String, _ body: () -> Value
) throws(Errno) -> Value {
    let result = uninterrupted(body)
    if result >= 0 { return result }
    throw Errno(number: Int32(truncatingIfNeeded: -result), call: "\(call)", path: path())
}

/// Repeats a call while a signal interrupts it, and returns what the call returned.
///
/// The call returns a negated error number. Only this function handles EINTR for such calls.
func uninterrupted<Value: SignedInteger>(_ body: () -> Value) -> Value {
    while true {
        let result = body()
        if result >= 0 || Int32(truncatingIfNeeded: -result) != EINTR { return result }
    }
}

/// Makes a call of libc that returns -1 and sets `errno`. Repeats it as `retrying` does.
@discardableResult
func retryingLibc<Value: SignedInteger>(
    _ call: StaticString, _ path: @autoclosure () -> String, _ body: () -> Value
) throws(Errno) -> Value {
    try retrying(call, path()) { () -> Value in
        let result = body()
        return result == -1 ? Value(-linux_errno()) : result
    }
}

extension MirrorError {
    /// Creates the error for users from a failed call: a full disk, an obstacle, or input/output.
    package init(_ error: Errno, target: Target? = nil) {
        let place = target?.path ?? (error.path.isEmpty ? "The system" : error.path)
        // Outside `.mirror/`, ENXIO and ESPIPE may come from a disk that is gone.
        let isOwn =
            target == nil
            && (error.path.hasPrefix(".mirror/") || error.path.contains("/.mirror/"))
        let obstructed = isOwn ? FailureCode(ofObstacleAt: error.path) : .obstructed
        switch error.number {
        case ENOSPC, EDQUOT:
            let what = error.number == EDQUOT ? "the disk quota is used up" : "the disk is full"
            self.init(
                .noSpace, "\(place): \(what). Parts were kept; free some space and run again.",
                target: target)
        case ELOOP:
            self.init(
                obstructed,
                "\(place): a symbolic link is in the way, and mirror follows none. Remove it.",
                target: target)
        case ENOTDIR:
            self.init(
                obstructed, "\(place): a file is where a folder should be. Move it away.",
                target: target)
        case EISDIR:
            self.init(
                obstructed, "\(place): a folder is where the file should be. Move it away.",
                target: target)
        case ENXIO where isOwn, ESPIPE where isOwn:
            self.init(
                obstructed,
                "\(place): a pipe, a socket or a device is where the file should be. Move it away.",
                target: target)
        case EAGAIN, EMFILE, ENFILE, ENOMEM:
            self.init(
                .inputOutput,
                """
                \(place): \(error). There are no more threads, open files or memory for this \
                process; end other programs, or raise its limits (ulimit), then run again.
                """, target: target)
        case EBADMSG:
            // ext4 and xfs also return this number for bytes with a wrong checksum.
            self.init(
                .inputOutput,
                """
                \(place): the disk does not hold what was written to it. Check the disk, then run \
                again.
                """, target: target)
        default:
            self.init(.inputOutput, "\(place): \(error).", target: target)
        }
    }
}

extension FailureCode {
    /// The code for an obstacle in place of a file in `.mirror/`.
    ///
    /// The command does without settings where the root is unusable, so an obstacle in place of the
    /// settings has another code.
    fileprivate init(ofObstacleAt path: String) {
        let name = PathText.name(of: path)
        let isRead = name == "settings.json" || name.hasPrefix("index.sqlite")
        self = isRead ? .inputOutput : .rootUnusable
    }
}
