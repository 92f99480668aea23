internal import CCompression
internal import MirrorModel
internal import MirrorSystem

/// How a list is compressed, as its first bytes tell.
enum Compression: CaseIterable {
    case gzip, xz, zstd

    /// Detects the compression of a text by its first bytes; nil if there is none that is known.
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

    /// The library, and Debian's name for it.
    private var library: (file: String, package: String) {
        switch self {
        case .gzip: ("libz.so.1", "zlib1g")
        case .xz: ("liblzma.so.5", "liblzma5")
        case .zstd: ("libzstd.so.1", "libzstd1")
        }
    }

    /// Decompresses a whole text. The thrown error says what is wrong; the log stays as it is.
    ///
    /// - Parameter most: the greatest length of the result in bytes.
    func expand(_ bytes: [UInt8], most: Int = ListReader.greatestSize) throws(DecodingStop)
        -> [UInt8]
    {
        let table: UnsafePointer<ccompression>
        do throws(MirrorError) { table = try loaded.get().table } catch { throw .unreadable(error) }
        var stream = ccompression_stream()
        guard ccompression_begin(table, kind, &stream) == 0 else {
            throw .unreadable(MirrorError(.internalError, "\(library.file) cannot begin."))
        }
        defer { ccompression_end(table, &stream) }
        var rest = bytes[...]
        var text: [UInt8] = []
        while true {
            let end = step(table, &stream, &rest, &text)
            guard text.count <= most else {
                throw damaged("it has more than \(ByteCount(Int64(most))) when it is decompressed")
            }
            switch end {
            case .more: continue
            case .whole: return text
            case .damaged:
                throw damaged("its compressed bytes are damaged, or end too early")
            }
        }
    }

    private enum Progress { case more, whole, damaged }

    private func step(
        _ table: UnsafePointer<ccompression>, _ stream: inout ccompression_stream,
        _ rest: inout ArraySlice<UInt8>, _ text: inout [UInt8]
    ) -> Progress {
        let chunk = 256 << 10
        var result: Int32 = -1
        var left = rest.count
        let part = [UInt8](unsafeUninitializedCapacity: chunk) { buffer, count in
            rest.withUnsafeBufferPointer { input in
                var (next, output, room) = (input.baseAddress, buffer.baseAddress, chunk)
                result = ccompression_step(table, &stream, &next, &left, &output, &room)
                count = chunk - room
            }
        }
        let hasMoved = !part.isEmpty || left < rest.count
        rest = rest.suffix(left)
        text += part
        if result == 1 { return .whole }
        return result == 0 && hasMoved ? .more : .damaged
    }

    private func damaged(_ words: String) -> DecodingStop {
        .unreadable(MirrorError(.manifestInvalid, "The list cannot be read: \(words)."))
    }

    // The first access to each loads the library.
    private static let gzipLibrary = gzip.load(gzip.library.file)
    private static let xzLibrary = xz.load(xz.library.file)
    private static let zstdLibrary = zstd.load(zstd.library.file)

    private var loaded: Result<LoadedLibrary<ccompression>, MirrorError> {
        switch self {
        case .gzip: Compression.gzipLibrary
        case .xz: Compression.xzLibrary
        case .zstd: Compression.zstdLibrary
        }
    }

    /// Loads the library that has this name.
    func load(_ name: String) -> Result<LoadedLibrary<ccompression>, MirrorError> {
        do throws(LoadedLibrary<ccompression>.Failure) {
            return .success(
                try LoadedLibrary(ccompression()) { ccompression_load(kind, name, $0, $1, $2) })
        } catch {
            return .failure(
                MirrorError(
                    .manifestUnreadable,
                    "It is compressed, and \(name) cannot be loaded: \(error.words). Install it (Debian: \(library.package)), or decompress the list elsewhere."
                ))
        }
    }
}
