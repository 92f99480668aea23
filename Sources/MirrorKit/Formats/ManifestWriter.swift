/// Writes manifests: one model becomes JSON, XML or Metalink 4.
///
/// Reading the text again makes the same model. Defaults are merged, URLs are absolute (except
/// `file:` URLs below the manifest's folder), and notes are gone. Memory does not grow with the
/// manifest.
package struct ManifestWriter: Sendable {
    /// The notation to write.
    var notation: DecodedManifest.Notation
    /// Whether values that the notation cannot express are left out instead of refused.
    ///
    /// A POST is never left out.
    package var isLossy = false
    /// The absolute path of the folder of the new text. `nil` means that it is not known.
    var folder: String?
    /// The manifest's name in diagnostics: the name of the text from which it was read.
    var label: String

    /// Makes a writer that refuses values that the notation cannot express.
    package init(_ notation: DecodedManifest.Notation, label: String) {
        self.notation = notation
        self.label = label
    }

    /// Finds values that the notation cannot express. Returns the warnings, at most 20.
    ///
    /// Throws `ManifestError`, which names each resource and key.
    @discardableResult
    package func check(_ manifest: Manifest) throws(ManifestError) -> [Diagnostic] {
        let log = DiagnosticLog(file: label)
        NotationCheck(notation: notation, isLossy: isLossy, log: log).check(manifest)
        if let refusal = log.refusal { throw refusal }
        return log.warnings
    }

    /// Checks the manifest, then writes chunks of about 64 KiB.
    ///
    /// The check throws before the first chunk is written.
    package func write(_ manifest: Manifest, to sink: ([UInt8]) throws -> Void) throws {
        try check(manifest)
        let base = folder.flatMap { SourceURL(folder: $0) }
        switch notation {
        case .json: try Self.writeJSON(manifest, folder: base, to: sink)
        case .xml: try Self.writeXML(manifest, folder: base, to: sink)
        case .metalink: try Self.writeMetalink(manifest, folder: base, to: sink)
        }
    }

    /// The length in bytes from which on text is passed to the sink.
    ///
    /// So memory never holds the whole text.
    private static let chunkSize = 64 << 10

    /// Writes a text a resource at a time.
    ///
    /// - Parameters:
    ///   - start: the text before the resources.
    ///   - end: the text behind the resources.
    ///   - add: appends a resource.
    static func write(
        _ manifest: Manifest, from start: [UInt8] = [], to sink: ([UInt8]) throws -> Void,
        end: String = "", _ add: (_ resource: Resource, _ bytes: inout [UInt8]) -> Void
    ) throws {
        var bytes = start
        for resource in manifest.resources {
            add(resource, &bytes)
            guard bytes.count >= chunkSize else { continue }
            try sink(bytes)
            bytes.removeAll(keepingCapacity: true)
        }
        try sink(bytes + end.utf8)
    }
}

// MARK: JSON

extension ManifestWriter {
    /// Writes a manifest in JSON, with each member on its own line.
    private static func writeJSON(
        _ manifest: Manifest, folder: SourceURL?, to sink: ([UInt8]) throws -> Void
    ) throws {
        var json = JSONWriter(indentation: 2)
        json.beginObject()
        json.member("version", 1)
        if let name = manifest.name { json.member("name", name) }
        if manifest.isAtomic { json.member("atomic", true) }
        json.key("resources")
        json.beginArray()
        for resource in manifest.resources {
            json.object { json in
                for key in ResourceKey.allCases {
                    guard let value = key.written(of: resource, from: folder) else { continue }
                    json.key(named: key.rawValue)
                    write(value, to: &json)
                }
            }
            if json.bytes.count >= chunkSize { try sink(json.take()) }
        }
        json.endArray()
        json.endObject()
        json.newline()
        try sink(json.take())
    }

    private static func write(_ value: ResourceKey.Written, to json: inout JSONWriter) {
        switch value {
        case .text(let text), .body(let text): json.string(text)
        case .number(let number): json.number(number)
        case .flag: json.boolean(true)
        case .words(let words): json.array { for word in words { $0.string(word) } }
        case .headers(let headers): write(headers, to: &json)
        case .mirrors(let mirrors):
            json.array { json in
                for mirror in mirrors {
                    if mirror.headers.isEmpty {
                        json.string(mirror.url)
                        continue
                    }
                    json.object { json in
                        json.member("url", mirror.url)
                        json.key("headers")
                        write(mirror.headers, to: &json)
                    }
                }
            }
        case .pieces(let pieces):
            json.object { json in
                json.member("length", pieces.length)
                json.key("sha256")
                json.array { json in
                    for position in 0..<pieces.count {
                        json.string(Hex.encode(pieces.sha256(at: position)))
                    }
                }
            }
        }
    }

    private static func write(_ headers: [HeaderField], to json: inout JSONWriter) {
        json.object { json in
            for header in headers {
                json.member(named: header.name, header.value.description)
            }
        }
    }
}

extension DecodedManifest.Notation {
    /// Finds the notation by a file's extension: json, xml, meta4 or metalink.
    ///
    /// Returns nil for any other extension.
    package init?(fileName: String) {
        guard let dot = fileName.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        switch fileName[fileName.utf8.index(after: dot)...].lowercased() {
        case "json": self = .json
        case "xml": self = .xml
        case "meta4", "metalink": self = .metalink
        default: return nil
        }
    }
}

extension Resource {
    /// Returns the headers that a mirror must declare so that it gets the headers it has.
    ///
    /// A mirror of the primary source's origin inherits its headers, and can replace but not remove
    /// them. Returns nil if no declaration gives these headers.
    func ownHeaders(of source: Source) -> [HeaderField]? {
        guard primary.url.origin == source.url.origin else { return source.headers }
        // Inherited headers stand before the mirror's own, in the order of the primary source.
        var inherited = 0
        for field in primary.headers
        where inherited < source.headers.count && source.headers[inherited] == field {
            inherited += 1
        }
        let own = Array(source.headers[inherited...])
        return primary.headers.overlaid(with: own) == source.headers ? own : nil
    }
}

/// Finds values of a manifest that a notation cannot express, before any byte is written.
///
/// A loss that would change the requested bytes is always an error. The caller may permit the other
/// losses, which are warnings then.
struct NotationCheck {
    let notation: DecodedManifest.Notation
    let isLossy: Bool
    let log: DiagnosticLog

    /// Checks all values that the notation might not express. The result is in the log.
    func check(_ manifest: Manifest) {
        let top = TextPosition()
        if let name = manifest.name {
            switch notation {
            case .metalink: loss("the manifest", "name", at: top)
            case .xml: checkText(name, "the manifest", "name", at: top)
            case .json: break
            }
        }
        if manifest.isAtomic, notation == .metalink { loss("the manifest", "atomic", at: top) }
        for resource in manifest.resources { check(resource) }
    }

    private func check(_ resource: Resource) {
        let name = resource.target.path.printable
        let place = TextPosition(line: resource.line, column: resource.column)
        if notation == .metalink {
            if resource.method != .get { error("\(name): Metalink has no method", at: place) }
            for key in NotationCheck.keysBeyondMetalink(of: resource) {
                loss(name, key, at: place)
            }
        }
        checkServerName(resource, name, at: place)
        if notation != .metalink { checkMirrors(resource, name, at: place) }
        guard notation != .json else { return }
        checkText(resource.target.path, name, "path", at: place)
        guard notation == .xml else { return }
        for tag in resource.tags { checkText(tag, name, "tags", at: place) }
        if case .post(let body) = resource.method {
            checkText(body.description, name, "body", at: place)
        }
        for source in resource.sources {
            for header in source.headers {
                checkText(header.value.description, name, "headers", at: place)
            }
        }
    }

    private static func keysBeyondMetalink(of resource: Resource) -> [String] {
        var keys = ResourceKey.allCases.filter {
            !ResourceKey.inMetalink.contains($0) && $0.written(of: resource, from: nil) != nil
        }.map { $0 == .priority ? "priority of a resource" : $0.rawValue }
        if resource.isNamedByServer { keys.append("path that the server completes") }
        if resource.primary.headers.isEmpty,
            resource.mirrors.contains(where: { !$0.headers.isEmpty })
        {
            keys.append("headers")
        }
        return keys
    }

    /// Checks that a file that the server will name has its URL's name until then.
    ///
    /// The notation cannot express any other name.
    private func checkServerName(_ resource: Resource, _ name: String, at place: TextPosition) {
        guard resource.isNamedByServer, notation != .metalink else { return }
        let url = resource.primary.url
        let suggested = url.lastSegment ?? url.provisionalName
        if !suggested.utf8.elementsEqual(resource.target.name.utf8) {
            error("\(name): path: the URL suggests another name; give the file its path", at: place)
        }
    }

    private func checkMirrors(_ resource: Resource, _ name: String, at place: TextPosition) {
        for source in resource.mirrors where resource.ownHeaders(of: source) == nil {
            error(
                "\(name): mirrors: a mirror of the url's origin inherits its headers; \(source.url)"
                    + " has fewer", at: place)
        }
    }

    private func checkText(_ text: String, _ what: String, _ key: String, at place: TextPosition) {
        guard let scalar = text.firstForbiddenInXML else { return }
        let number = String(scalar.value, radix: 16, uppercase: true)
        error("\(what): \(key) has the character U+\(number), which XML cannot hold", at: place)
    }

    private func loss(_ what: String, _ key: String, at place: TextPosition) {
        if isLossy {
            log.warning(at: place, "\(what): \(key) is left out, because Metalink has none")
        } else {
            error("\(what): Metalink has no \(key)", at: place)
        }
    }

    private func error(_ text: String, at place: TextPosition) {
        let advice = notation == .json ? "" : "; write JSON"
        log.error(at: place, text + advice)
    }
}
