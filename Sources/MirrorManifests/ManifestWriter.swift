public import MirrorModel

/// Writes manifests: one model becomes JSON, XML or Metalink 4.
///
/// If the text is read again, the model is the same. Defaults are merged, URLs are absolute (except
/// `file:` URLs beneath the manifest's folder), and notes are gone. Memory does not grow with the
/// manifest.
public struct ManifestWriter: Sendable {
    /// The notation to write.
    public var notation: DecodedManifest.Notation
    /// Whether values that the notation cannot express are left out instead of refused.
    ///
    /// A POST is never left out.
    public var isLossy = false
    /// The absolute path of the folder that the text will lie in; nil when it is not known.
    public var folder: String?
    /// The name in diagnostics of the manifest that is written: the one that it was read from.
    public var label: String

    /// A writer that refuses values that the notation cannot express.
    public init(_ notation: DecodedManifest.Notation, label: String) {
        self.notation = notation
        self.label = label
    }

    /// Finds values that the notation cannot express; returns the warnings, at most 20.
    ///
    /// Throws `ManifestRefusal`, which names each resource and key.
    @discardableResult
    public func check(_ manifest: Manifest) throws(ManifestRefusal) -> [Diagnostic] {
        let log = DiagnosticLog(file: label)
        NotationCheck(notation: notation, isLossy: isLossy, log: log).check(manifest)
        if let refusal = log.refusal { throw refusal }
        return log.warnings
    }

    /// Checks, then writes chunks of about 64 KiB; a refusal comes before the first of them.
    public func write(_ manifest: Manifest, to sink: ([UInt8]) throws -> Void) throws {
        try check(manifest)
        let base = folder.flatMap { SourceURL(folder: $0) }
        switch notation {
        case .json: try Self.write(manifest, JSONManifestEncoder(folder: base), sink)
        case .xml: try Self.write(manifest, XMLManifestEncoder(folder: base), sink)
        case .metalink: try Self.write(manifest, MetalinkEncoder(folder: base), sink)
        }
    }

    static func write(
        _ manifest: Manifest, _ encoder: some ManifestEncoder, _ sink: ([UInt8]) throws -> Void
    ) throws {
        var encoder = encoder
        encoder.begin(manifest)
        for resource in manifest.resources {
            encoder.add(resource)
            if encoder.pendingBytes >= 64 << 10 { try sink(encoder.take()) }
        }
        encoder.end()
        try sink(encoder.take())
    }
}

extension DecodedManifest.Notation {
    /// The notation that a file's extension stands for: json, xml, meta4 or metalink; else nil.
    public init?(fileName: String) {
        guard let dot = fileName.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        switch fileName[fileName.utf8.index(after: dot)...].lowercased() {
        case "json": self = .json
        case "xml": self = .xml
        case "meta4", "metalink": self = .metalink
        default: return nil
        }
    }
}

/// Turns a manifest into text a resource at a time, so that memory never holds the whole text.
protocol ManifestEncoder {
    /// The number of bytes that wait to be taken.
    var pendingBytes: Int { get }
    mutating func begin(_ manifest: Manifest)
    mutating func add(_ resource: Resource)
    mutating func end()
    /// Takes the bytes that were written so far.
    mutating func take() -> [UInt8]
}

/// A resource as mirror's own notations write it, without the values that a reader assumes.
///
/// The model already has merged defaults and absolute URLs, so writing it needs neither `defaults`
/// nor `base`. Reading the text again makes the same model.
struct WrittenResource {
    /// A source beside the primary one, with the headers that it does not inherit.
    struct Mirror {
        let url: String
        let headers: [HeaderField]
    }

    let resource: Resource
    let path: String
    let url: String
    let mirrors: [Mirror]
    /// Subresource Integrity, for a digest that has no key.
    let integrity: String?

    init(_ resource: Resource, folder: SourceURL?) {
        self.resource = resource
        path = resource.isNamedByServer ? resource.target.folder + "/" : resource.target.path
        url = resource.primary.url.reference(from: folder)
        mirrors = resource.sources.dropFirst().map { source in
            Mirror(
                url: source.url.reference(from: folder),
                headers: WrittenResource.ownHeaders(of: source, in: resource) ?? source.headers)
        }
        integrity = resource.digests.first { ResourceKey(rawValue: $0.algorithm.rawValue) == nil }
            .map(\.integrity)
    }

    /// The headers that a mirror must declare to get those that it has; nil if none would do.
    ///
    /// A mirror of the primary source's origin inherits its headers, and can replace but not remove
    /// them.
    static func ownHeaders(of source: Source, in resource: Resource) -> [HeaderField]? {
        let primary = resource.primary
        guard primary.url.origin == source.url.origin else { return source.headers }
        // What it inherits stands before its own, in the order that it has in the primary source.
        var inherited = 0
        for field in primary.headers
        where inherited < source.headers.count && source.headers[inherited] == field {
            inherited += 1
        }
        let own = Array(source.headers[inherited...])
        return primary.headers.overlaid(with: own) == source.headers ? own : nil
    }
}

extension Resource {
    /// The refresh of a resource whose manifest does not declare one.
    var assumedRefresh: Refresh { pin != nil ? .never : .always }
}

/// Finds values of a manifest that a notation cannot express, before any byte is written.
///
/// A loss that would change the requested bytes is always an error. The caller may permit the other
/// losses, which are warnings then.
struct NotationCheck {
    let notation: DecodedManifest.Notation
    let isLossy: Bool
    let log: DiagnosticLog

    /// Checks everything that the notation might not express; the log has the result.
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
        let written = WrittenResource(resource, folder: nil)
        var keys = ResourceKey.allCases.filter {
            !ResourceKey.inMetalink.contains($0) && written.value(of: $0) != nil
        }.map { $0 == .priority ? "priority of a resource" : $0.rawValue }
        if resource.isNamedByServer { keys.append("path that the server completes") }
        if resource.primary.headers.isEmpty,
            resource.mirrors.contains(where: { !$0.headers.isEmpty })
        {
            keys.append("headers")
        }
        return keys
    }

    /// Checks that a resource named by the server has the name in its URL until then.
    private func checkServerName(_ resource: Resource, _ name: String, at place: TextPosition) {
        guard resource.isNamedByServer, notation != .metalink else { return }
        let url = resource.primary.url
        let suggested = url.lastSegment ?? url.provisionalName
        if !suggested.utf8.elementsEqual(resource.target.name.utf8) {
            error("\(name): path: the URL suggests another name; give the file its path", at: place)
        }
    }

    private func checkMirrors(_ resource: Resource, _ name: String, at place: TextPosition) {
        for source in resource.sources.dropFirst()
        where WrittenResource.ownHeaders(of: source, in: resource) == nil {
            error(
                "\(name): mirrors: a mirror of the url's origin inherits its headers; \(source.url)"
                    + " has fewer", at: place)
        }
    }

    private func checkText(_ text: String, _ what: String, _ key: String, at place: TextPosition) {
        guard let scalar = XMLText.firstForbidden(in: text) else { return }
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
