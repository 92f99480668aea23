import Glibc
import MirrorKit
import MirrorModel

/// A file that takes one line an event.
///
/// Each line is one write to a file opened for appending, so that several runs may share it. Progress
/// is left out: it says nothing that the end of a transfer does not.
final class EventLog {
    private let path: String
    private let format: LogFormat
    private var descriptor: Int32
    /// The `errno` of the first write that failed.
    private(set) var failure: Int32?

    /// Takes a descriptor of `open`, which it closes at its end.
    init(_ path: String, format: LogFormat, descriptor: Int32) {
        self.path = path
        self.format = format
        self.descriptor = descriptor
    }

    /// Opens a file to append to, and makes it when it is not there. Throws `MirrorError` with
    /// `inputOutput`.
    ///
    /// - Parameter waitsForReader: whether a pipe that nobody reads is waited for; else it is an error.
    static func open(_ path: String, waitsForReader: Bool) throws -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC
        let descriptor = Glibc.open(path, waitsForReader ? flags : flags | O_NONBLOCK, 0o644)
        guard descriptor >= 0 else {
            throw MirrorError(
                .inputOutput,
                "\(path): the log cannot be opened: \(String(cString: strerror(errno))).")
        }
        if !waitsForReader { _ = fcntl(descriptor, F_SETFL, O_APPEND) }
        return descriptor
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Writes an event's line.
    func note(_ event: Event) {
        if case .progress = event.body { return }
        guard failure == nil else { return }
        let bytes = EventLog.line(event, as: format)
        let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count < bytes.count { failure = count < 0 ? errno : ENOSPC }
    }

    /// The line of an event, with its line break.
    static func line(_ event: Event, as format: LogFormat) -> [UInt8] {
        var json = JSONWriter()
        event.worded.write(to: &json)
        let bytes = json.take()
        guard format == .logfmt, let tree = try? JSONTree(bytes, file: "") else {
            return bytes + [UInt8(ascii: "\n")]
        }
        return Array((Logfmt.line(tree) + "\n").utf8)
    }
}
