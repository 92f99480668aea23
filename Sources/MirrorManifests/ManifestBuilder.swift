internal import MirrorModel
internal import MirrorSystem

/// Makes one model of the values that the decoders of all notations read.
///
/// A decoder passes key, value and place. `ValueCheck` alone decides whether a value is right, and
/// words the error and the correction. The builder leaves out a resource with errors, and reading
/// continues.
final class ManifestBuilder {
    /// The number of resources from which a second thread is worth its cost.
    private static let manyResources = 8192

    let check: ValueCheck
    /// Knows base and defaults, and makes each resource.
    let resourceBuilder: ResourceBuilder
    private var name: Located<String>?
    /// The name of a text that gives itself none; nil stands for the stem of its file's name.
    var nameByPlace: String?
    private var isAtomic = false
    var resources = ResourceTable()
    /// Whether the resources are known to be one tree.
    private var isTree = false

    init(log: DiagnosticLog, origin: ManifestOrigin) {
        check = ValueCheck(log: log, origin: origin)
        resourceBuilder = ResourceBuilder(check)
    }

    var log: DiagnosticLog { check.log }

    /// A builder for a second reading, which knows base and defaults from the first.
    func again() -> ManifestBuilder {
        log.clear()
        let builder = ManifestBuilder(log: log, origin: check.origin)
        builder.resourceBuilder.base = resourceBuilder.base
        builder.resourceBuilder.defaults = resourceBuilder.defaults
        return builder
    }

    /// Sets a top-level key; the decoder walks through `defaults` and `resources`.
    func set(_ key: TopKey, _ value: WrittenValue, at place: TextPosition) {
        switch key {
        case .version:
            guard let number = check.integer(value, "version", at: place) else { return }
            if number != 1 {
                log.error(
                    at: place,
                    number > 1
                        ? "version \(number) was written for a newer mirror; this one reads 1"
                        : "version \(number) does not exist; write 1")
            }
        case .name:
            guard let text = check.text(value, "name", at: place) else { return }
            if let flaw = ManifestRules.flaw(ofName: text) {
                log.error(at: place, "name \(Quoted(text)): \(flaw)")
            } else {
                name = Located(value: text, place: place)
            }
        case .base:
            guard let text = check.text(value, "base", at: place) else { return }
            let base = check.url(text, "base", relativeTo: check.origin.ownURL, at: place)
            if let base { resourceBuilder.base = base }
        case .atomic: isAtomic = check.boolean(value, "atomic", at: place)
        case .defaults, .resources: check.wrongKind(value, key.rawValue, at: place)
        }
    }

    /// Sets a key of `defaults` that has one value.
    func setDefault(_ key: DefaultsKey, _ value: WrittenValue, at place: TextPosition) {
        if key == .tags {
            setDefault(tags: check.tags(value, at: place), at: place)
        } else {
            resourceBuilder.defaults.set(key, value, at: place, check)
        }
    }

    /// Sets the headers that every resource inherits.
    func setDefault(headers: HeaderList, at place: TextPosition) {
        if check.canInherit(headers.elements.count, "headers", at: place) {
            resourceBuilder.defaults.headers = headers
        }
    }

    /// Sets the tags that every resource inherits.
    func setDefault(tags: TagList, at place: TextPosition) {
        if check.canInherit(tags.elements.count, "tags", at: place) {
            resourceBuilder.defaults.tags = tags
        }
    }

    func draft(at place: TextPosition) -> ResourceDraft {
        ResourceDraft(at: place, check, priority: resourceBuilder.defaults.priority)
    }

    /// Adds the resource of a draft, unless it has errors.
    func finish(_ draft: ResourceDraft) {
        if let resource = resourceBuilder.resource(from: draft), draft.isSound {
            resources.append(resource)
        }
    }

    /// Takes all resources, which are one tree.
    func take(tree: ResourceTable) { (resources, isTree) = (tree, true) }

    /// The manifest as a whole; its errors are in the log.
    func finish() -> Manifest {
        if name == nil, check.origin == .standardInput {
            log.error(
                at: TextPosition(),
                resourceBuilder.isList
                    ? "a list on standard input has no name; read it from a file"
                    : "a manifest on standard input needs a name; add \"name\"")
        }
        // The plan needs the order again.
        resources.rememberOrder()
        var manifest = Manifest(
            name: name?.value, owner: name?.value ?? nameByPlace ?? check.origin.stem ?? "manifest",
            resources: resources)
        manifest.isAtomic = isAtomic
        let flaws = isTree ? [] : flaws(of: manifest)
        if flaws.isEmpty, log.errorCount == 0 { manifest.resources.noteValid() }
        for flaw in flaws {
            let place = resources.place(at: flaw.position)
            log.error(
                at: TextPosition(line: place.line, column: place.column),
                manifest.sentence(on: flaw))
        }
        return manifest
    }

    /// As `Manifest.flaws`; a second thread looks for a part of them in a long manifest.
    private func flaws(of manifest: Manifest) -> [ManifestFlaw] {
        guard manifest.resources.count >= ManifestBuilder.manyResources else {
            return manifest.flaws()
        }
        let (ofTargets, ofDigests) = ParallelWork.both(
            { manifest.flawsOfTargets() }, and: { manifest.flawsOfDigests() }, thread: "digests")
        return ManifestFlaw.inOrder(ofTargets + ofDigests)
    }
}
