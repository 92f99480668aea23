import Glibc
import MirrorKit

/// A file to which each event adds one line.
///
/// Each line is one write to a file opened for appending, so that several runs may share the file.
/// Progress events are left out, because the end of a transfer says the same.
final class EventLog {
    private let path: String
    private let format: LogFormat
    private var descriptor: Int32
    /// The `errno` of the first write that failed. `nil` means that none failed.
    private(set) var failure: Int32?

    /// Takes a descriptor that `open` returned, and closes it in the end.
    init(_ path: String, format: LogFormat, descriptor: Int32) {
        self.path = path
        self.format = format
        self.descriptor = descriptor
    }

    /// Opens a file to append to, and makes the file if it is missing.
    ///
    /// Throws `MirrorError` with `inputOutput`.
    ///
    /// - Parameter waitsForReader: whether to wait for the reader of a pipe. If false, a pipe
    ///   without a reader is an error.
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
        return Array((tree.logfmt + "\n").utf8)
    }
}

extension JSONTree {
    /// The object as one line of `key=value` pairs (logfmt), without its line break.
    ///
    /// The members of inner objects have keys joined by dots. A value is quoted if it is empty, or
    /// has a space, a quote, an equals sign or a control character. Null is left out.
    var logfmt: String {
        var pairs: [String] = []
        JSONTree.add(self, "", to: &pairs)
        return pairs.joined(separator: " ")
    }

    private static func add(_ tree: JSONTree, _ key: String, to pairs: inout [String]) {
        switch tree.value {
        case .object(let members):
            for member in members {
                add(member.value, key.isEmpty ? member.key : key + "." + member.key, to: &pairs)
            }
        case .array(let elements):
            let texts = elements.compactMap { $0.string }
            if !texts.isEmpty { pairs.append("\(key)=\(quoted(texts.joined(separator: ",")))") }
        case .string(let text): pairs.append("\(key)=\(quoted(text))")
        case .number(let text): pairs.append("\(key)=\(text)")
        case .boolean(let flag): pairs.append("\(key)=\(flag)")
        case .null: break
        }
    }

    private static func quoted(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy {
                $0.value > 0x20 && $0.value != 0x7F && $0 != "\"" && $0 != "=" && $0 != "\\"
                    && !(0x80..<0xA0).contains($0.value)
            }
        if isPlain { return text }
        var json = JSONWriter()
        json.string(text)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
