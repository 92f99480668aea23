internal import Glibc

/// A system call that failed in a test.
public struct SystemFailure: Error, CustomStringConvertible {
    /// The call, what it was about, and what strerror(3) says.
    public let description: String

    package init(_ call: String, _ subject: String, errno number: Int32) {
        description = "\(call): \(subject): \(String(cString: strerror(number)))"
    }
}
