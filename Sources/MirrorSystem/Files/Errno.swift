internal import CLinux
internal import Glibc
package import MirrorModel

/// An error number of the system, the call that returned it, and the path of the call.
package struct Errno: Error, Hashable, CustomStringConvertible {
    /// The number, as errno(3) lists them.
    package let number: Int32
    /// The call, e.g. `openat2`.
    package let call: String
    /// The path below the root, or as the caller gave it; empty where there is none.
    package let path: String

    /// Keeps the error number of a failed call.
    package init(number: Int32, call: String, path: String) {
        self.number = number
        self.call = call
        self.path = path
    }

    /// The system's text for the number, and the call.
    package var description: String { "\(String(cString: strerror(number))) (\(call))" }

    /// Whether the disk, or a quota on it, is full.
    package var isNoSpace: Bool { number == ENOSPC || number == EDQUOT }

    /// Whether a person can remove what prevents this one call: a file in the way, or a permission.
    ///
    /// It is not one if the disk failed or is full, or if the process has no more files or memory.
    package var isInTheWay: Bool {
        !isNoSpace && ![EIO, EBADMSG, EAGAIN, EMFILE, ENFILE, ENOMEM].contains(number)
    }
}

/// Makes a call that returns a negated error number, and repeats it while a signal interrupts it.
///
/// close(2) is not called through it: Linux has released the descriptor by then, and a second call
/// would close a descriptor that belongs to other code.
@discardableResult
package func retrying<Value: SignedInteger>(
    _ call: StaticString, _ path: @autoclosure () -> String, _ body: () -> Value
) throws(Errno) -> Value {
    let result = uninterrupted(body)
    if result >= 0 { return result }
    throw Errno(number: Int32(truncatingIfNeeded: -result), call: "\(call)", path: path())
}

/// The same without an error of its own: returns what the call returned. This is the one place for
/// EINTR.
func uninterrupted<Value: SignedInteger>(_ body: () -> Value) -> Value {
    while true {
        let result = body()
        if result >= 0 || Int32(truncatingIfNeeded: -result) != EINTR { return result }
    }
}

/// Makes a call of libc that returns -1 and leaves the number in `errno`.
@discardableResult
package func retryingLibc<Value: SignedInteger>(
    _ call: StaticString, _ path: @autoclosure () -> String, _ body: () -> Value
) throws(Errno) -> Value {
    try retrying(call, path()) { () -> Value in
        let result = body()
        return result == -1 ? Value(-linux_errno()) : result
    }
}

extension MirrorError {
    /// Translates a failed call for a caller: a full disk, a file in the way, or input/output.
    package init(_ error: Errno, target: Target? = nil) {
        let place = target?.path ?? (error.path.isEmpty ? "The system" : error.path)
        // Elsewhere such a number may come from a disk that is gone.
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
    /// The code for something else in the place of a file in `.mirror/`: that of the file's own errors.
    fileprivate init(ofObstacleAt path: String) {
        let name = PathText.name(of: path)
        if name == "settings.json" {
            self = .manifestInvalid
        } else if name.hasPrefix("index.sqlite") {
            self = .inputOutput
        } else {
            self = .rootUnusable
        }
    }
}
