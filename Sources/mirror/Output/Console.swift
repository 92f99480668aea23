import Glibc
import MirrorKit
import Synchronization

/// Standard output or standard error. Any task may write whole lines to it.
///
/// When the reader has gone (EPIPE), the output ends and the run continues: the tree matters more
/// than the report. The console remembers any other failure, so that the run can report an
/// incomplete output.
final class Console: Sendable {
    /// Standard output, for results.
    static let output = Console(descriptor: STDOUT_FILENO)
    /// Standard error, for progress, warnings and errors.
    static let error = Console(
        descriptor: STDERR_FILENO,
        isJournal: Console.isJournal(
            STDERR_FILENO, stream: getenv("JOURNAL_STREAM").map { String(cString: $0) }))

    private let descriptor: Int32
    private let failure = Mutex<Int32>(0)
    /// Whether the journal reads the lines, so that each begins with its priority.
    private let isJournal: Bool

    init(descriptor: Int32, isJournal: Bool = false) {
        self.descriptor = descriptor
        self.isJournal = isJournal
        isTerminal = isatty(descriptor) == 1
    }

    /// The `errno` of the first failed write, other than EPIPE.
    ///
    /// `nil` means that all writes succeeded.
    var writeError: Int32? {
        failure.withLock { $0 == 0 || $0 == EPIPE ? nil : $0 }
    }

    /// Whether a short write would return now, without waiting for a reader.
    var isReady: Bool {
        var now = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&now, 1, 0) == 1
    }

    /// Whether the console is a terminal.
    let isTerminal: Bool

    /// The columns and rows of the terminal. They are 80 and 24 if the terminal reports no size.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), max(2, Int(size.ws_row)))
    }

    /// Writes a line.
    func line(_ text: String) {
        write((isJournal ? Console.prioritized(text) : text) + "\n")
    }

    /// Writes a line, which breaks between words if the terminal is too narrow for it.
    func wrappedLine(_ text: String) {
        guard isTerminal else { return line(text) }
        let columns = size.columns
        line(
            text.split(separator: "\n", omittingEmptySubsequences: false)
                .map { TerminalFrame.wrapped(String($0), columns: columns) }
                .joined(separator: "\n"))
    }

    /// Writes text without a line break.
    func write(_ text: String) { write(bytes: Array(text.utf8)) }

    /// Writes a JSON document and a line break.
    func json(_ value: (inout JSONWriter) -> Void) {
        var json = JSONWriter()
        value(&json)
        json.newline()
        write(bytes: json.take())
    }

    /// Writes a JSON document that is an object of version 1 with these members.
    func document(_ members: (inout JSONWriter) -> Void) {
        json { json in
            json.object { json in
                json.member("v", 1)
                members(&json)
            }
        }
    }

    /// Writes all bytes, above the lines of progress. Writes nothing after an earlier failure.
    func write(bytes: [UInt8]) {
        if isTerminal, !bytes.isEmpty, Screen.shared.print(bytes) { return }
        failure.withLock { write(bytes, &$0) }
    }

    /// Writes text that `Screen` has composed.
    func writeRaw(_ text: String) {
        failure.withLock { write(Array(text.utf8), &$0) }
    }

    /// Writes the last bytes of the output, unless another thread is writing at this moment.
    func write(last bytes: [UInt8]) {
        let erasure = isTerminal ? Array(Screen.shared.lastErasure().utf8) : []
        _ = failure.withLockIfAvailable { failure in
            write(erasure + bytes, &failure)
            failure = EPIPE
        }
    }

    private func write(_ bytes: [UInt8], _ failure: inout Int32) {
        guard failure == 0 else { return }
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let slice = UnsafeRawBufferPointer(rebasing: rest)
                let count = Glibc.write(descriptor, slice.baseAddress, slice.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&wait, 1, -1)
                } else if errno != EINTR {
                    failure = errno
                    return
                }
            }
        }
    }
}

// The priority that the journal gives a line, as a prefix of it (sd-daemon(3)).

extension Console {
    /// Whether a descriptor is connected to the journal (systemd.exec(5), `$JOURNAL_STREAM`).
    static func isJournal(_ descriptor: Int32, stream: String?) -> Bool {
        guard let numbers = stream?.split(separator: ":"), numbers.count == 2,
            let device = UInt64(numbers[0]), let inode = UInt64(numbers[1])
        else { return false }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }

    /// Puts a priority before each line of a text. The text's first word decides the priority.
    static func prioritized(_ text: String) -> String {
        let priority: String
        if ["mirror: error", "failed"].contains(where: text.hasPrefix) {
            priority = "<3>"
        } else if ["mirror: note", "mirror: warning", "optional", "note"]
            .contains(where: text.hasPrefix)
        {
            priority = "<4>"
        } else {
            priority = "<6>"
        }
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { priority + $0 }.joined(separator: "\n")
    }
}

// What the environment says about the terminal.

extension Console {
    /// Whether the cursor can be moved. Every terminal that has a name can, except `dumb`.
    static var canMoveCursor: Bool {
        guard let name = variable("TERM") else { return false }
        return name != "dumb"
    }

    /// Whether characters beyond ASCII are shown (locale(7)).
    static var showsUnicode: Bool {
        let locale = variable("LC_ALL") ?? variable("LC_CTYPE") ?? variable("LANG") ?? ""
        return locale.lowercased().contains("utf-8") || locale.lowercased().contains("utf8")
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// A buffer of lines for standard output, which writes about 64 KiB at a time.
///
/// So a list of a million lines does not make a million calls.
struct LineBuffer {
    private let console: Console
    private var bytes: [UInt8] = []
    private static let most = 64 << 10

    /// Makes an empty buffer.
    init(_ console: Console = .output) { self.console = console }

    /// Adds a line.
    mutating func line(_ text: String) {
        bytes.append(contentsOf: text.utf8)
        bytes.append(UInt8(ascii: "\n"))
        if bytes.count >= LineBuffer.most { flush() }
    }

    /// Writes the lines that are still in the buffer.
    mutating func flush() {
        if !bytes.isEmpty { console.write(bytes: bytes) }
        bytes.removeAll(keepingCapacity: true)
    }
}

/// Labels, colours and bars of lines for people.
struct TextStyle: Sendable {
    var isColored = false
    /// Whether the terminal shows characters beyond ASCII.
    var isUnicode = true

    /// The meaning of a colour.
    enum Meaning: String {
        case good = "32"
        case warning = "33"
        case failure = "31"
        case neutral = "36"
    }

    /// The columns of a label.
    static let labelWidth = 14

    /// A word at the beginning of a line, padded to a column.
    func label(_ word: String, _ meaning: Meaning) -> String {
        let padding = String(repeating: " ", count: max(1, Self.labelWidth - word.count))
        return paint(word, meaning.rawValue) + padding
    }

    /// The label of an outcome.
    func outcome(_ outcome: Outcome) -> String {
        switch outcome {
        case .failed: label(outcome.word, .failure)
        case .conflict, .edited, .stale, .noRoom: label(outcome.word, .warning)
        case .kept, .skipped, .deferred, .unchanged, .notModified, .adopted:
            label(outcome.word, .neutral)
        default: label(outcome.word, .good)
        }
    }

    /// Returns a bar of `columns` columns for a share from 0 to 1.
    func bar(_ share: Double, columns: Int) -> String {
        let count = max(0, min(columns, Int((share * Double(columns)).rounded(.down))))
        let done = String(repeating: isUnicode ? "━" : "=", count: count)
        let rest = String(repeating: isUnicode ? "╌" : "-", count: columns - count)
        return paint(done, .good) + faint(rest)
    }

    /// Paints a remark in a faint style.
    func faint(_ text: String) -> String { paint(text, "2") }

    /// Paints a text in the colour of its meaning.
    func paint(_ text: String, _ meaning: Meaning) -> String { paint(text, meaning.rawValue) }

    private func paint(_ text: String, _ code: String) -> String {
        isColored && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
