internal import Glibc

/// The bytes of a manifest, in chunks, which can be read a second time.
///
/// Readers share one object: the bytes that a pipe gave to the first reader are kept for the next.
/// Every chunk but the last is full, even if a pipe gives few bytes at a time.
final class ManifestBytes {
    /// The length of a chunk in bytes.
    let chunkSize: Int
    /// The length of the first chunk, which is always enough to detect notation and encoding.
    var firstChunkSize: Int { max(chunkSize, 256) }

    private enum Store {
        /// A file that can be read at any offset, and the offset that the manifest begins at.
        case file(Int32, start: off_t)
        /// A pipe or a socket; its bytes are kept, because they come only once.
        case stream(Int32)
        case memory
    }

    private let store: Store
    /// Called with the offset up to which the bytes have been read.
    private let hasRead: (Int) -> Void
    private var kept: [UInt8] = []
    private var offset = 0
    /// Whether a piece could not be read.
    private(set) var hasFailed = false

    /// Reads from an open descriptor, from its current offset on; the caller closes it.
    init(descriptor: Int32, hasRead: @escaping (Int) -> Void = { _ in }) {
        self.hasRead = hasRead
        chunkSize = 64 << 10
        let start = lseek(descriptor, 0, SEEK_CUR)
        store = start >= 0 ? .file(descriptor, start: start) : .stream(descriptor)
    }

    /// Takes bytes that are in memory.
    init(_ bytes: [UInt8], chunkSize: Int = 64 << 10) {
        self.chunkSize = chunkSize
        hasRead = { _ in }
        store = .memory
        kept = bytes
    }

    /// Makes `next` begin again with the first chunk.
    func rewind() { offset = 0 }

    /// The same bytes; `next` begins again with the first chunk.
    var rewound: ManifestBytes {
        rewind()
        return self
    }

    /// Replaces a chunk by the next one. The chunk is empty at the end of the text.
    func next(_ chunk: inout [UInt8]) throws(DecodingStop) {
        chunk.removeAll(keepingCapacity: true)
        switch store {
        case .file(let descriptor, let start):
            let at = start + off_t(offset)
            try fill(&chunk) { pread(descriptor, $0.baseAddress, $0.count, at + off_t($1)) }
        case .stream(let descriptor) where offset == kept.count:
            try fill(&chunk) { buffer, _ in read(descriptor, buffer.baseAddress, buffer.count) }
            kept += chunk
        case .stream, .memory:
            chunk +=
                kept[offset..<min(offset + (offset == 0 ? firstChunkSize : chunkSize), kept.count)]
        }
        offset += chunk.count
        hasRead(offset)
    }

    /// Returns at most `count` bytes at an offset, without a change of what `next` reads.
    ///
    /// Returns nil if the bytes cannot be read.
    func piece(at offset: Int, count: Int) -> [UInt8]? {
        switch store {
        case .file(let descriptor, let start):
            var failure: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                let raw = UnsafeMutableRawBufferPointer(buffer)
                repeat {
                    filled = pread(descriptor, raw.baseAddress, count, start + off_t(offset))
                } while filled < 0 && errno == EINTR
                failure = filled < 0 ? errno : 0
                filled = max(0, filled)
            }
            if failure != 0 { hasFailed = true }
            return failure == 0 ? bytes : nil
        case .stream, .memory:
            let start = min(offset, kept.count)
            return Array(kept[start..<min(start + count, kept.count)])
        }
    }

    /// Fills a chunk; `read` gets the rest of the buffer and the number of bytes before it.
    private func fill(
        _ chunk: inout [UInt8], from read: (UnsafeMutableRawBufferPointer, Int) -> Int
    ) throws(DecodingStop) {
        var failure: Int32 = 0
        chunk = [UInt8](unsafeUninitializedCapacity: chunkSize) { buffer, count in
            while count < chunkSize {
                let rest = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                let length = read(rest, count)
                if length < 0, errno == EINTR { continue }
                failure = length < 0 ? errno : 0
                if length <= 0 { return }
                count += length
            }
        }
        guard failure == 0 else {
            let reason = failure == EISDIR ? "it is a folder" : String(cString: strerror(failure))
            throw .unreadable(
                MirrorError(.manifestUnreadable, "The manifest cannot be read: \(reason)."))
        }
    }
}

/// Strict UTF-8 over chunks (Unicode, Table 3-7), with the place of the first bad byte.
///
/// The check precedes libxml2, which reads a text with bad bytes as Latin-1 in some releases and
/// repairs it in others.
struct UTF8Check {
    private var missing = 0
    private var range: ClosedRange<UInt8> = 0x80...0xBF
    private var line = 1
    private var column = 1

    /// Whether the last byte leaves a character incomplete.
    var isInside: Bool { missing > 0 }

    /// The place of the character that the check has reached.
    var position: TextPosition { TextPosition(line: line, column: column) }

    /// Checks a chunk. Returns the number of bytes before the first bad one.
    mutating func advance(over chunk: [UInt8]) -> Int {
        for (at, byte) in chunk.enumerated() {
            if missing > 0 {
                guard range.contains(byte) else { return at }
                missing -= 1
                range = 0x80...0xBF
                if missing == 0 { column += 1 }
                continue
            }
            switch byte {
            case 0x0A:
                line += 1
                column = 1
            case 0..<0x80: column += 1
            default:
                guard let next = UTF8Check.continuation(of: byte) else { return at }
                (missing, range) = next
            }
        }
        return chunk.count
    }

    /// Returns how many bytes follow a character's first byte, and the range of the second byte.
    ///
    /// Returns nil if no character of several bytes begins with this byte.
    static func continuation(of lead: UInt8) -> (count: Int, range: ClosedRange<UInt8>)? {
        switch lead {
        case 0xC2...0xDF: (1, 0x80...0xBF)
        case 0xE0: (2, 0xA0...0xBF)
        case 0xED: (2, 0x80...0x9F)
        case 0xE1...0xEF: (2, 0x80...0xBF)
        case 0xF0: (3, 0x90...0xBF)
        case 0xF1...0xF3: (3, 0x80...0xBF)
        case 0xF4: (3, 0x80...0x8F)
        default: nil
        }
    }

    /// The message about a byte that is no UTF-8.
    static let message = "invalid UTF-8; save the manifest as UTF-8"

    /// The message about a text in another encoding.
    static func message(about encoding: String) -> String {
        "the text is \(encoding); save the manifest as UTF-8"
    }
}
