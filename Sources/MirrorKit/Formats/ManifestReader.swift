internal import Glibc

/// A manifest that was read without errors.
package struct DecodedManifest: Sendable {
    /// The notations that a manifest can be written in.
    package enum Notation: String, Sendable, Hashable, CaseIterable {
        /// JSON.
        case json
        /// mirror's own XML.
        case xml
        /// Metalink 4 (RFC 5854).
        case metalink
    }

    /// The manifest: the resources that should be in the tree.
    package var manifest: Manifest
    /// The notation of the text; nil if it is a list of another program.
    package let notation: Notation?
    /// The format of the list; nil if the text is a manifest.
    package let list: ListFormat?
    /// The warnings about the manifest, such as weak digests; at most 20.
    package let warnings: [Diagnostic]
    /// How many more warnings there are.
    package let omittedWarnings: Int
    /// The entries that were left out of a list, in the order of the list. Empty for a manifest.
    package var leftOut: [LeftOutEntry] { manifest.leftOut }
    /// The number of pages in which a list came.
    package var pages = 1
    /// The further documents that a list consists of; empty if it is complete.
    var parts: [ListPart] = []
    /// The hint with which the text was read, without a base that no file needed.
    let hint: ListHint
}

extension DecodedManifest {
    /// Makes a part of a list that has only one entry, which is left out.
    init(leavingOut name: String, _ reason: String) {
        var manifest = Manifest(name: "list", resources: [])
        manifest.leftOut = [LeftOutEntry(name, reason, line: 0, column: 0)]
        self.init(
            manifest: manifest, notation: nil, list: nil, warnings: [], omittedWarnings: 0,
            hint: ListHint())
    }

    /// Adds the next page of a document to the parts.
    mutating func goOn(at next: SourceURL, _ part: ListPart? = nil) {
        switch part {
        case .folder(var folder)?:
            (folder.url, folder.isNextPage) = (next, true)
            parts.append(.folder(folder))
        case nil where list == .index:
            var folder = ListedFolder(url: next)
            folder.isNextPage = true
            parts.append(.folder(folder))
        case .project?: break
        case .page?, nil: parts.append(.page(next))
        }
    }
}

/// Reads manifests in JSON, XML and Metalink 4, and the lists of other programs, into one model.
///
/// The content decides the notation, not the name. A list may be compressed. Memory grows with the
/// resources, by about 130 bytes for a pinned one, and not with the text.
enum ManifestReader {
    /// Reads from an open descriptor, from its current offset to its end; the caller closes it.
    ///
    /// - Parameters:
    ///   - descriptor: a file, a pipe or a socket.
    ///   - label: the name of the manifest in diagnostics.
    ///   - origin: decides which sources the manifest may name, and to which URL its URLs are
    ///     relative.
    ///   - hint: knowledge about a list that its text does not have; a manifest needs none.
    ///   - hasRead: called after each chunk with the number of bytes that have been read.
    /// - Throws: `ManifestError` with every error; `MirrorError` when the bytes cannot be read.
    static func read(
        descriptor: Int32, label: String, origin: ManifestOrigin, hint: ListHint = ListHint(),
        hasRead: @escaping (Int) -> Void = { _ in }
    ) throws -> DecodedManifest {
        try read(
            ManifestBytes(descriptor: descriptor, hasRead: hasRead), label: label, origin: origin,
            hint)
    }

    /// Reads bytes that are in memory. Parameters and errors are those of the other `read`.
    static func read(
        _ bytes: [UInt8], label: String, origin: ManifestOrigin, hint: ListHint = ListHint()
    ) throws -> DecodedManifest {
        try read(ManifestBytes(bytes), label: label, origin: origin, hint)
    }

    /// Reads bytes that are in memory, and keeps up to `mostErrors` errors.
    static func read(
        _ bytes: [UInt8], label: String, origin: ManifestOrigin, mostErrors: Int
    ) throws -> DecodedManifest {
        try read(
            ManifestBytes(bytes), label: label, origin: origin, ListHint(), mostErrors: mostErrors)
    }

    /// Reads bytes that are in memory, in chunks. The length of a chunk does not change the result.
    static func read(
        _ bytes: [UInt8], chunkSize: Int, label: String, origin: ManifestOrigin,
        hint: ListHint = ListHint()
    ) throws -> DecodedManifest {
        try read(ManifestBytes(bytes, chunkSize: chunkSize), label: label, origin: origin, hint)
    }

    private static func read(
        _ bytes: ManifestBytes, label: String, origin: ManifestOrigin, _ hint: ListHint,
        mostErrors: Int = DiagnosticLog.limit
    ) throws -> DecodedManifest {
        let log = DiagnosticLog(file: label, limit: mostErrors)
        let builder = ManifestBuilder(log: log, origin: origin)
        do throws(DecodingStop) {
            return try decode(bytes, ListReader(builder: builder, hint: hint))
        } catch .unreadable(let error) {
            throw MirrorError(error.code, "\(label.printable): \(error.message)")
        } catch .refused {
            throw log.refusal ?? ManifestError(diagnostics: [], omitted: 0)
        }
    }

    private static func decode(
        _ bytes: ManifestBytes, _ lists: ListReader
    ) throws(DecodingStop) -> DecodedManifest {
        let builder = lists.builder
        var firstChunk: [UInt8] = []
        try bytes.next(&firstChunk)
        let notation = ManifestNotation(
            firstChunk, isWhole: firstChunk.count < bytes.firstChunkSize)
        // An error about a page of a package index is reported where the list names the project.
        if case .project? = lists.hint.part {
            builder.log.text = nil
        } else {
            builder.log.text = notation.textKind.map { DiagnosedText(bytes: bytes, kind: $0) }
        }
        switch notation {
        case .json:
            if let list = try lists.readJSON(bytes) { return try decoded(list, lists.hint) }
            return try decoded(try decodeJSON(bytes, builder), .json)
        case .html: return try decoded(try lists.readHTML(bytes), lists.hint)
        case .xml:
            let decoder = XMLManifestDecoder(builder: builder, hint: lists.hint)
            try decoder.decode(bytes)
            if let list = decoder.list {
                list.finish()
                return try decoded(list, lists.hint)
            }
            try lists.refuseHint()
            return try decoded(builder, decoder.notation)
        case .text: return try decoded(try lists.readText(bytes), lists.hint)
        case .compressed(let compression):
            let whole = try compression.expand(try bytes.whole(most: ListReader.greatestSize))
            let text = ListText.texts(inTar: whole) ?? whole
            return try decodeCompressed(ManifestBytes(text), lists)
        case .binary:
            builder.log.error(
                at: TextPosition(), "this is a file and no text, so it is no manifest",
                remedy: builder.check.origin.isRemote ? Remedy(.get) : nil)
            throw .refused
        case .unknown(let flaw):
            builder.log.error(at: TextPosition(), flaw)
            throw .refused
        }
    }

    private static func decodeCompressed(
        _ bytes: ManifestBytes, _ lists: ListReader
    ) throws(DecodingStop) -> DecodedManifest {
        var firstChunk: [UInt8] = []
        try bytes.next(&firstChunk)
        if case .compressed = ManifestNotation(firstChunk, isWhole: false) {
            lists.builder.log.error(at: TextPosition(), "it is compressed twice; decompress it")
            throw .refused
        }
        let decoded = try decode(bytes.rewound, lists)
        guard decoded.list == nil else { return decoded }
        lists.builder.log.error(
            at: TextPosition(), "a manifest is not compressed; decompress it")
        throw .refused
    }

    /// Reads JSON, and reads it again if `base` or `defaults` came after resources.
    ///
    /// In JSON the order of keys has no meaning, and the decoder keeps no unfinished resource until
    /// the end. So the second reading begins with the base and the defaults that the first one
    /// found.
    private static func decodeJSON(
        _ bytes: ManifestBytes, _ builder: ManifestBuilder
    ) throws(DecodingStop) -> ManifestBuilder {
        var decoder = try JSONManifestDecoder(bytes, builder: builder)
        try decoder.decode()
        guard decoder.cameTooLate else { return builder }
        let second = builder.again()
        decoder = try JSONManifestDecoder(bytes, builder: second)
        try decoder.decode()
        return second
    }

    private static func decoded(
        _ builder: ManifestBuilder, _ notation: DecodedManifest.Notation?
    ) throws(DecodingStop) -> DecodedManifest {
        let manifest = builder.finish()
        guard builder.log.errorCount == 0 else { throw .refused }
        let warnings = builder.log.warnings
        return DecodedManifest(
            manifest: manifest, notation: notation, list: nil, warnings: warnings,
            omittedWarnings: builder.log.warningCount - warnings.count, hint: ListHint())
    }

    private static func decoded(
        _ list: ListCollector, _ hint: ListHint
    ) throws(DecodingStop) -> DecodedManifest {
        let builder = list.builder
        let used = (list.unusedBase == nil ? hint : hint.withoutBase).lasting
        if let name = hint.name { builder.set(.name, .untyped(name), at: TextPosition()) }
        var manifest = builder.finish()
        manifest.leftOut = list.leftOut
        // A list has no name of its own. Its place gives the name under which it owns its files.
        manifest.name = manifest.owner
        guard builder.log.errorCount == 0 else { throw .refused }
        let warnings = builder.log.warnings
        return DecodedManifest(
            manifest: manifest, notation: nil, list: list.format, warnings: warnings,
            omittedWarnings: builder.log.warningCount - warnings.count, parts: list.parts,
            hint: used)
    }
}

/// The notation of a manifest, found by its first bytes.
enum ManifestNotation {
    case json
    case xml
    /// A page of a web server, perhaps a directory listing.
    case html
    /// A text of lines, or TOML: no manifest, but perhaps a list.
    case text
    case compressed(Compression)
    /// Bytes that are in no text, such as those of an image.
    case binary
    case unknown(String)

    /// Detects the notation by the first chunk, which may be the whole text.
    ///
    /// The decoders report the errors in a text. A text that no decoder reads has its error in
    /// `unknown`.
    init(_ chunk: [UInt8], isWhole: Bool) {
        if chunk.starts(with: [0xFE, 0xFF]) || chunk.starts(with: [0xFF, 0xFE]) {
            self = .unknown(UTF8Check.message(about: "UTF-16"))
            return
        }
        if let compression = Compression(chunk) {
            self = .compressed(compression)
            return
        }
        let text = chunk.starts(with: [0xEF, 0xBB, 0xBF]) ? chunk[3...] : chunk[...]
        let start = text.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        switch start.first {
        case UInt8(ascii: "<") where start.prefix(4).contains(0):
            self = .unknown(UTF8Check.message(about: "UTF-16 or UTF-32"))
        case UInt8(ascii: "<"): self = ManifestNotation.isHTML(start) ? .html : .xml
        case nil where isWhole:
            self = .unknown("the manifest is empty; write { \"resources\": [] }")
        case 0: self = .unknown(UTF8Check.message(about: "UTF-16 or UTF-32"))
        case UInt8(ascii: "["): self = ManifestNotation.isTOML(start) ? .text : .json
        case nil, UInt8(ascii: "{"): self = .json
        default: self = ManifestNotation.isBinary(start) ? .binary : .text
        }
    }

    /// Whether bytes have control characters and are no UTF-8, which no list does.
    private static func isBinary(_ text: ArraySlice<UInt8>) -> Bool {
        let start = Array(text.prefix(4096))
        guard start.contains(where: { $0 < 0x09 || (0x0E...0x1A).contains($0) }),
            ForeignList.shown(byStart: start) == nil
        else { return false }
        var check = UTF8Check()
        return check.advance(over: start) < start.count
    }

    /// How the text is divided into words. `nil` means that it is no text.
    var textKind: DiagnosedText.Kind? {
        switch self {
        case .json: .json
        case .xml, .html: .xml
        case .text: .list
        case .compressed, .binary, .unknown: nil
        }
    }

    /// Whether a text begins like a page of HTML.
    private static func isHTML(_ text: ArraySlice<UInt8>) -> Bool {
        let start = String(decoding: text.prefix(16), as: UTF8.self).lowercased()
        return ["<!doctype html", "<html", "<head", "<title", "<pre", "<h1", "<body"]
            .contains { start.hasPrefix($0) }
    }

    /// Whether a `[` opens a table of TOML and not an array of JSON.
    private static func isTOML(_ text: ArraySlice<UInt8>) -> Bool {
        let name = text.drop { $0 == UInt8(ascii: "[") || $0 == 0x20 }
        return name.first.map { (0x61...0x7A).contains($0 | 0x20) } ?? false
    }
}

/// The place that a manifest comes from.
///
/// The origin decides which sources the manifest may name, and to which URL its URLs are relative.
enum ManifestOrigin: Sendable, Hashable {
    /// A file; its folder is the base, and it may name `file:` sources.
    case file(path: String)
    /// Standard input: no base for URLs, no `file:` sources, and the manifest needs a name.
    case standardInput
    /// An http or https URL, which is the base; no `file:` sources, no passwords in URLs.
    case url(SourceURL)

    /// The URL to which `base` is relative, or all URLs of a manifest without `base`.
    ///
    /// `nil` means standard input, which has no URL.
    var ownURL: SourceURL? {
        switch self {
        case .file(let path): SourceURL(file: ManifestOrigin.absolute(path))
        case .standardInput: nil
        case .url(let url): url
        }
    }

    /// Whether the manifest is a file, and so was probably written on this machine.
    var isFile: Bool { if case .file = self { true } else { false } }

    /// Whether the origin is a URL that ends in a slash, as that of a directory listing does.
    var isFolder: Bool {
        if case .url(let url) = self { url.path.utf8.last == UInt8(ascii: "/") } else { false }
    }

    /// Whether the manifest belongs to another party, because it came by URL.
    var isRemote: Bool { if case .url = self { true } else { false } }

    /// The name of the file, or the name at the end of the URL. `nil` means that there is no name.
    var listName: String? {
        switch self {
        case .file(let path): path.parts(at: "/").last.map(String.init)
        case .standardInput: nil
        case .url(let url): url.lastSegment
        }
    }

    /// The file's name without its extension, or the host of a URL without a name.
    ///
    /// `nil` means that there is no name.
    var stem: String? {
        var name = listName
        if case .url(let url) = self { name = name ?? url.host }
        guard let name, let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex
        else { return name }
        return String(name[..<dot])
    }

    private static func absolute(_ path: String) -> String {
        guard path.utf8.first != UInt8(ascii: "/"), let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }
}
