internal import CLinux
internal import Glibc

/// An error number of the system, the call that returned it, and the path of the call.
package struct Errno: Error, Hashable, CustomStringConvertible {
    /// The number, as errno(3) lists them.
    package let number: Int32
    /// The call, e.g. `openat2`.
    package let call: String
    /// The path beneath the root, or as the caller gave it; empty where there is none.
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

    /// Whether somebody can take away what prevents this one call: a file in the way, or a permission.
    ///
    /// It is not one if the disk failed or is full, or if the process has no more files or memory.
    package var isObstacle: Bool {
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
