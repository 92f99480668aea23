internal import MirrorModel

/// Makes one model of the values that the decoders of all notations read.
///
/// A decoder passes key, value and place. The builder alone decides whether a value is right, and
/// words the error and the correction. A resource with errors is left out, and reading continues.
final class ManifestBuilder {
    let log: DiagnosticLog
    let origin: ManifestOrigin
    var name: Located<String>?
    /// The name of a text that gives itself none; nil stands for the stem of its file's name.
    var nameByPlace: String?
    var isAtomic = false
    /// The URL against which relative URLs are resolved.
    var base: SourceURL?
    var defaults = ManifestDefaults()
    var resources = ResourceTable()
    /// The kinds of plain resources met so far.
    var plainKinds: [PlainKind] = []
    /// Whether the text is a list of another program, whose doubts are counted by their kind.
    var isList = false

    init(log: DiagnosticLog, origin: ManifestOrigin) {
        self.log = log
        self.origin = origin
        base = origin.ownURL
    }

    /// A builder for a second reading, which knows base and defaults from the first.
    func again() -> ManifestBuilder {
        log.clear()
        let builder = ManifestBuilder(log: log, origin: origin)
        builder.base = base
        builder.defaults = defaults
        return builder
    }

    /// Sets a top-level key; the decoder walks through `defaults` and `resources`.
    func set(_ key: TopKey, _ value: WrittenValue, at place: TextPosition) {
        switch key {
        case .version:
            guard let number = integer(value, "version", at: place) else { return }
            if number != 1 {
                log.error(
                    at: place,
                    number > 1
                        ? "version \(number) was written for a newer mirror; this one reads 1"
                        : "version \(number) does not exist; write 1")
            }
        case .name:
            guard let text = text(value, "name", at: place) else { return }
            if let flaw = ManifestBuilder.flaw(ofName: text) {
                log.error(at: place, "name \(Quoted(text)): \(flaw)")
            } else {
                name = Located(value: text, place: place)
            }
        case .base:
            guard let text = text(value, "base", at: place) else { return }
            base = url(text, "base", relativeTo: origin.ownURL, at: place) ?? base
        case .atomic: isAtomic = boolean(value, "atomic", at: place)
        case .defaults, .resources: wrongKind(value, key.rawValue, at: place)
        }
    }

    /// Sets a key of `defaults` that has one value.
    func setDefault(_ key: DefaultsKey, _ value: WrittenValue, at place: TextPosition) {
        switch key {
        case .directory:
            guard var text = text(value, "directory", at: place) else { return }
            while text.utf8.last == UInt8(ascii: "/") { text.removeLast() }
            do throws(TargetFlaw) {
                _ = try Target(text + "/x")
                defaults.directory = text
            } catch {
                log.error(at: place, "directory \(Quoted(text)): \(ofFolder(error))")
            }
        case .refresh: defaults.refresh = refresh(value, at: place)
        case .priority: defaults.priority = priority(value, at: place) ?? 0
        case .tags: defaults.tags = tags(value, at: place)
        case .headers: wrongKind(value, "headers", at: place)
        }
    }

    /// The flaw with a suggestion for the folder, without the name that stood in for a file's.
    private func ofFolder(_ flaw: TargetFlaw) -> TargetFlaw {
        guard case .outsideAreas(let suggestion?) = flaw else { return flaw }
        return .outsideAreas(suggestion: String(suggestion.dropLast(2)))
    }

    func draft(at place: TextPosition) -> ResourceDraft {
        ResourceDraft(place: place, errorsBefore: log.errorCount)
    }

    /// Adds the resource of a draft, unless it has errors.
    func finish(_ draft: ResourceDraft) {
        if let resource = resource(from: draft), log.errorCount == draft.errorsBefore {
            resources.append(resource)
        }
    }

    /// The manifest as a whole; its errors are in the log.
    func finish() -> Manifest {
        if name == nil, origin == .standardInput {
            log.error(
                at: TextPosition(),
                isList
                    ? "a list on standard input has no name; read it from a file"
                    : "a manifest on standard input needs a name; add \"name\"")
        }
        var manifest = Manifest(
            name: name?.value, owner: name?.value ?? nameByPlace ?? origin.stem ?? "manifest",
            resources: resources)
        manifest.isAtomic = isAtomic
        for flaw in manifest.flaws() {
            let place = resources.place(at: flaw.position)
            log.error(
                at: TextPosition(line: place.line, column: place.column),
                manifest.sentence(on: flaw))
        }
        return manifest
    }

    private static func flaw(ofName name: String) -> String? {
        if name.isEmpty { return "it is empty; write a name" }
        if name.utf8.count > 200 { return "it has more than 200 bytes" }
        let hasControl = name.unicodeScalars.contains {
            $0.value < 0x20 || (0x7F..<0xA0).contains($0.value)
        }
        return hasControl ? "it has a control character" : nil
    }
}
