/// Lines for standard output, written some 64 KiB at a time.
///
/// A list of a million lines therefore does not make a million calls.
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
