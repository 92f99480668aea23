internal import CCompression

/// How a list is compressed, as its first bytes show.
enum Compression: CaseIterable {
    case gzip, xz, zstd

    /// Detects the compression of a text by its first bytes.
    ///
    /// Returns nil if they belong to no known compression.
    init?(_ start: [UInt8]) {
        guard let found = Compression.allCases.first(where: { start.starts(with: $0.mark) }) else {
            return nil
        }
        self = found
    }

    private var mark: [UInt8] {
        switch self {
        case .gzip: [0x1F, 0x8B, 0x08]
        case .xz: [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]
        case .zstd: [0x28, 0xB5, 0x2F, 0xFD]
        }
    }

    private var kind: ccompression_kind {
        switch self {
        case .gzip: CCOMPRESSION_GZIP
        case .xz: CCOMPRESSION_XZ
        case .zstd: CCOMPRESSION_ZSTD
        }
    }

    /// Decompresses a whole text. Throws an error that says what is wrong, and logs nothing.
    ///
    /// - Parameter most: the greatest length of the result in bytes.
    func expand(_ bytes: [UInt8], most: Int = ListReader.greatestSize) throws(DecodingStop)
        -> [UInt8]
    {
        var stream = ccompression_stream()
        guard ccompression_begin(kind, &stream) else {
            throw .unreadable(
                MirrorError(.internalError, "The list cannot be decompressed: out of memory."))
        }
        defer { ccompression_end(&stream) }
        var rest = bytes[...]
        var text: [UInt8] = []
        while true {
            let isWhole = step(&stream, &rest, &text)
            guard text.count <= most else {
                throw damaged("it has more than \(ByteCount(Int64(most))) when it is decompressed")
            }
            guard let isWhole else {
                throw damaged("its compressed bytes are damaged, or end too early")
            }
            if isWhole { return text }
        }
    }

    /// Decompresses the next bytes. Returns whether the text ends with them.
    ///
    /// Returns nil if the bytes are damaged.
    private func step(
        _ stream: inout ccompression_stream, _ rest: inout ArraySlice<UInt8>,
        _ text: inout [UInt8]
    ) -> Bool? {
        let chunk = 256 << 10
        var result: Int32 = -1
        var left = rest.count
        let part = [UInt8](unsafeUninitializedCapacity: chunk) { buffer, count in
            rest.withUnsafeBufferPointer { input in
                var (next, output, room) = (input.baseAddress, buffer.baseAddress, chunk)
                result = ccompression_step(&stream, &next, &left, &output, &room)
                count = chunk - room
            }
        }
        let hasMoved = !part.isEmpty || left < rest.count
        rest = rest.suffix(left)
        text += part
        if result == 1 { return true }
        return result == 0 && hasMoved ? false : nil
    }

    private func damaged(_ words: String) -> DecodingStop {
        .unreadable(MirrorError(.manifestInvalid, "The list cannot be read: \(words)."))
    }
}
