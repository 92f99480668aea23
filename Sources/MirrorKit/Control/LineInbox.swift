internal import Synchronization

/// Bytes that arrived, taken out a line at a time.
final class LineInbox: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        /// Where the next line begins.
        var start = 0
    }

    private let state = Mutex(State())

    /// Adds bytes.
    func add(_ bytes: ArraySlice<UInt8>) { state.withLock { $0.bytes += bytes } }

    /// The next whole line, without its line break.
    func take() -> [UInt8]? {
        state.withLock { state in
            guard let end = state.bytes[state.start...].firstIndex(of: UInt8(ascii: "\n")) else {
                state.bytes.removeFirst(state.start)
                state.start = 0
                return nil
            }
            defer { state.start = end + 1 }
            return Array(state.bytes[state.start..<end])
        }
    }
}
