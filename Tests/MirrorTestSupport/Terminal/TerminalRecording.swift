internal import CTestSupport
internal import Glibc
internal import Synchronization

/// A program on a terminal of its own, and everything that it wrote there, piece by piece, as an
/// asciicast has it.
public final class TerminalRecording: Sendable {
    /// A piece of what was written, or a new size.
    public enum Event: Sendable {
        case output([UInt8])
        case size(columns: Int, rows: Int)
    }

    private struct State {
        var events: [Event] = []
        var isOver = false
    }

    private let primary: Int32
    private let state = Mutex(State())
    /// The process id.
    public let pid: Int32

    /// Starts a program whose standard streams are the terminal.
    public init(
        _ program: String, _ arguments: [String], environment: [String: String], columns: Int = 80,
        rows: Int = 24
    ) throws(SystemFailure) {
        var path = [CChar](repeating: 0, count: 64)
        let primary = test_open_terminal(&path, path.count)
        guard primary >= 0 else { throw SystemFailure("posix_openpt", "/dev/ptmx", errno: errno) }
        let name = String(decoding: path.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
        self.primary = primary
        TerminalRecording.setSize(primary, columns, rows)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // In a session of its own the first terminal that is opened becomes the controlling one.
        for number in Int32(0)...2 {
            posix_spawn_file_actions_addopen(&actions, number, name, O_RDWR, 0)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | test_spawn_in_session)
        var pid: pid_t = 0
        let failure = CStrings.withPointers([program] + arguments) { words in
            CStrings.withPointers(CStrings.variables(environment)) {
                posix_spawn(&pid, program, &actions, &attributes, words, $0)
            }
        }
        guard failure == 0 else {
            Glibc.close(primary)
            throw SystemFailure("posix_spawn", program, errno: failure)
        }
        self.pid = pid
        state.withLock { $0.events.append(.size(columns: columns, rows: rows)) }
        DetachedThread.start { [self] in read() }
    }

    deinit { Glibc.close(primary) }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(primary, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            // EIO: no process has the terminal open any more.
            guard count > 0 else { break }
            let bytes = Array(buffer[..<count])
            state.withLock { $0.events.append(.output(bytes)) }
        }
        state.withLock { $0.isOver = true }
    }

    /// Gives the terminal another size, as a window does that is dragged.
    public func resize(columns: Int, rows: Int) {
        state.withLock { state in
            TerminalRecording.setSize(primary, columns, rows)
            state.events.append(.size(columns: columns, rows: rows))
        }
    }

    /// Types keys.
    public func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(primary, bytes, bytes.count)
    }

    private static func setSize(_ terminal: Int32, _ columns: Int, _ rows: Int) {
        var size = winsize(
            ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
    }

    /// What was recorded so far.
    public var events: [Event] { state.withLock { $0.events } }

    /// How many pieces of output contain a text so far.
    public func count(of text: String) -> Int {
        let wanted = Array(text.utf8)
        return events.count { event in
            guard case .output(let bytes) = event else { return false }
            return bytes.indices.contains { bytes[$0...].starts(with: wanted) }
        }
    }

    /// How often a text stands in all output so far. Two lines may come in one piece.
    public func occurrences(of text: String) -> Int {
        let output = events.reduce(into: [UInt8]()) { output, event in
            if case .output(let bytes) = event { output += bytes }
        }
        let wanted = Array(text.utf8)
        return output.indices.count { output[$0...].starts(with: wanted) }
    }

    /// Waits until so many pieces contain a text; false if the program ends before, or a minute passes.
    public func wait(for text: String, times: Int = 1) -> Bool {
        for _ in 0..<6000 {
            if count(of: text) >= times { return true }
            if state.withLock({ $0.isOver }) { return count(of: text) >= times }
            usleep(10_000)
        }
        return false
    }

    /// Waits for the end of the program and of its output; gives its exit status, or -1.
    public func wait() -> Int32 {
        var status: Int32 = 0
        for _ in 0..<12_000 where waitpid(pid, &status, WNOHANG) == 0 { usleep(10_000) }
        for _ in 0..<500 where !state.withLock({ $0.isOver }) { usleep(10_000) }
        guard state.withLock({ $0.isOver }) else {
            kill(pid, SIGKILL)
            waitpid(pid, &status, 0)
            return -1
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
    }

    /// Plays the recording into a terminal; the body sees the terminal after each event.
    public func replay(
        width: @escaping (Unicode.Scalar) -> Int = { _ in 1 },
        _ body: (TerminalModel, Event) -> Void = { _, _ in }
    ) -> TerminalModel {
        var terminal: TerminalModel?
        var rest: [UInt8] = []
        for event in events {
            switch event {
            case .size(let columns, let rows):
                if terminal == nil {
                    terminal = TerminalModel(columns: columns, rows: rows, width: width)
                } else {
                    terminal?.resize(columns: columns, rows: rows)
                }
            case .output(let bytes):
                rest += bytes
                // A character may be cut between two pieces.
                var whole = rest.count
                for back in 1...min(3, max(1, rest.count)) where back <= rest.count {
                    let byte = rest[rest.count - back]
                    if byte & 0xC0 == 0x80 { continue }
                    let length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
                    if length > back { whole = rest.count - back }
                    break
                }
                terminal?.write(String(decoding: rest[..<whole], as: UTF8.self))
                rest.removeFirst(whole)
            }
            if let terminal { body(terminal, event) }
        }
        return terminal ?? TerminalModel(columns: 80, rows: 24)
    }
}
