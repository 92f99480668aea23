/// Makes one manifest of the values that the decoders of all notations read.
///
/// A decoder passes key, value and place. `ValueCheck` alone decides whether a value is right, and
/// words the error and the correction. The builder leaves out a resource with errors, and reading
/// continues.
final class ManifestBuilder {
    /// The number of resources from which a second thread is worth its cost.
    private static let manyResources = 8192

    let check: ValueCheck
    /// Knows the base and the defaults, and makes each resource.
    let resourceBuilder: ResourceBuilder
    private var name: Located<String>?
    /// The name for a text that has none of its own. `nil` means the stem of its file's name.
    var nameByPlace: String?
    private var isAtomic = false
    var resources = ResourceTable()
    /// Whether the resources are known to form one tree, so that they need no check.
    private var isTree = false

    init(log: DiagnosticLog, origin: ManifestOrigin) {
        check = ValueCheck(log: log, origin: origin)
        resourceBuilder = ResourceBuilder(check)
    }

    var log: DiagnosticLog { check.log }

    /// Warns of a base that is meant as a folder and ends in no slash (RFC 3986 §5.2.3).
    private func noteLackingSlash(of base: SourceURL, at place: TextPosition) {
        guard let name = base.lastSegment, !name.utf8.contains(UInt8(ascii: ".")) else { return }
        log.warning(
            at: place,
            "base: relative URLs replace its last name \(Quoted(name)); if that is a folder, write a slash behind it"
        )
    }

    /// Returns a builder for a second reading, with the base and the defaults of the first.
    ///
    /// The log is cleared, because the second reading finds the same errors.
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
            guard let base else { return }
            noteLackingSlash(of: base, at: place)
            resourceBuilder.base = base
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
        if resourceBuilder.complete(draft), draft.isSound { resources.append(draft.resource) }
    }

    /// Sets all resources, which form one tree.
    func take(tree: ResourceTable) { (resources, isTree) = (tree, true) }

    /// Returns the manifest as a whole. Its errors are in the log.
    func finish() -> Manifest {
        if name == nil, check.origin == .standardInput {
            log.error(
                at: TextPosition(),
                resourceBuilder.isList
                    ? "a list on standard input has no name; read it from a file"
                    : "a manifest on standard input needs a name; add \"name\"")
        }
        // The paths are sorted once, because the plan needs the same order.
        resources.rememberOrder()
        var manifest = Manifest(
            name: name?.value, owner: name?.value ?? nameByPlace ?? check.origin.stem ?? "manifest",
            resources: resources)
        manifest.isAtomic = isAtomic
        // A second table with the same columns would make `noteValid` copy them.
        resources = ResourceTable()
        let flaws = isTree ? [] : flaws(of: manifest)
        if flaws.isEmpty, log.errorCount == 0 { manifest.resources.noteValid() }
        for flaw in flaws {
            let place = manifest.resources.place(at: flaw.position)
            log.error(
                at: TextPosition(line: place.line, column: place.column),
                manifest.sentence(on: flaw))
        }
        return manifest
    }

    /// Does the same as `Manifest.flaws`.
    ///
    /// In a long manifest, a second thread does part of the work.
    private func flaws(of manifest: Manifest) -> [ManifestRuleError] {
        guard manifest.resources.count >= ManifestBuilder.manyResources else {
            return manifest.flaws()
        }
        let (ofTargets, ofDigests) = NativeThread.both(
            { manifest.flawsOfTargets() }, and: { manifest.flawsOfDigests() }, thread: "digests")
        return ManifestRuleError.inOrder(ofTargets + ofDigests)
    }
}

/// The values for every resource that does not declare its own.
struct ManifestDefaults {
    private(set) var directory = Area.caches.rawValue
    private(set) var refresh: Refresh?
    var headers = HeaderList()
    private(set) var priority: Int32 = 0
    var tags = TagList()

    /// Sets a key of `defaults` that has one value.
    mutating func set(
        _ key: DefaultsKey, _ value: WrittenValue, at place: TextPosition, _ check: ValueCheck
    ) {
        switch key {
        case .directory:
            guard var text = check.text(value, "directory", at: place) else { return }
            while text.utf8.last == UInt8(ascii: "/") { text.removeLast() }
            do throws(TargetError) {
                _ = try Target(text + "/x")
                directory = text
            } catch {
                check.log.error(at: place, "directory \(Quoted(text)): \(ofFolder(error.reason))")
            }
        case .refresh: refresh = check.refresh(value, at: place)
        case .priority: priority = check.priority(value, at: place) ?? 0
        case .headers, .tags: check.wrongKind(value, key.rawValue, at: place)
        }
    }

    /// Removes the stand-in file name `/x` from the suggested folder.
    private func ofFolder(_ flaw: TargetError.Reason) -> TargetError.Reason {
        guard case .outsideAreas(let suggestion?) = flaw else { return flaw }
        return .outsideAreas(suggestion: String(suggestion.dropLast(2)))
    }
}

/// Makes resources of drafts.
///
/// The manifest's base and defaults supply the values that a draft lacks.
final class ResourceBuilder {
    let check: ValueCheck
    /// The URL against which relative URLs are resolved. `nil` means that there is none.
    var base: SourceURL?
    var defaults = ManifestDefaults()
    /// Whether the text is a list of another program.
    ///
    /// Doubts about a list are counted by their kind.
    var isList = false

    init(_ check: ValueCheck) {
        self.check = check
        base = check.origin.ownURL
    }

    /// Completes the resource of a draft.
    ///
    /// Returns false if the resource is unusable; the log then has the reason.
    func complete(_ draft: ResourceDraft) -> Bool {
        guard let text = draft.url else {
            if !draft.hasURL {
                check.log.error(at: draft.place, "the resource has no url; add one")
            }
            return false
        }
        let parsed = check.url(text.value, "url", relativeTo: base, at: text.place)
        let mirrors = draft.mirrors.compactMap { mirror in
            mirrorURL(mirror).map { (url: $0, draft: mirror) }
        }
        guard let url = parsed, let (target, isNamedByServer) = target(of: draft, url: url)
        else { return false }
        draft.resource.target = target
        draft.resource.isNamedByServer = isNamedByServer
        fill(&draft.resource, from: url, mirrors, of: draft)
        return true
    }

    /// Sets the values that depend on the URL and on the defaults.
    private func fill(
        _ resource: inout Resource, from url: SourceURL,
        _ mirrors: [(url: SourceURL, draft: MirrorDraft)], of draft: ResourceDraft
    ) {
        let headers = defaults.headers.elements.overlaid(with: draft.headers.elements)
        resource.primary = Source(url: url, headers: headers)
        // Two sources with one URL and the same own headers also inherit the same headers, so one
        // of them is dropped.
        var known: Set<Source> = mirrors.isEmpty ? [] : [Source(url: url)]
        for mirror in mirrors {
            let own = mirror.draft.headers.elements
            guard known.insert(Source(url: mirror.url, headers: own)).inserted else { continue }
            // The resource's headers may hold a token for its own origin, so mirrors of other
            // origins do not get them.
            let inherited = mirror.url.origin == url.origin ? headers : []
            if !own.isEmpty,
                !check.canInherit(inherited.count, "headers", at: mirror.draft.place)
            {
                continue
            }
            resource.mirrors.append(
                Source(url: mirror.url, headers: inherited.overlaid(with: own)))
        }
        resource.digests = draft.digests.map(\.value)
        warn(ofWeakDigests: draft)
        resource.pieces = pieces(of: draft, size: resource.size)
        resource.refresh =
            draft.refresh ?? defaults.refresh ?? (resource.pin != nil ? .never : .always)
        resource.method = method(of: draft) ?? .get
        let tags = draft.tags.elements
        resource.tags =
            tags.isEmpty
            ? defaults.tags.elements
            : defaults.tags.elements + tags.filter { !defaults.tags.contains($0) }
    }

    private func mirrorURL(_ mirror: MirrorDraft) -> SourceURL? {
        guard let text = mirror.url else {
            check.log.error(at: mirror.place, "the mirror has no url; add one")
            return nil
        }
        return check.url(text.value, "mirror", relativeTo: base, at: text.place)
    }

    private func target(
        of draft: ResourceDraft, url: SourceURL
    ) -> (target: Target, isNamedByServer: Bool)? {
        let written = draft.path?.value
        let isNamedByServer = written?.utf8.last == UInt8(ascii: "/")
        var path = written ?? defaults.directory + "/"
        if written == nil || isNamedByServer {
            let provisional = isNamedByServer ? url.provisionalName : nil
            guard let name = url.lastSegment ?? provisional else {
                check.log.error(
                    at: draft.path?.place ?? draft.url?.place ?? draft.place,
                    "the URL \(url) ends in no file name; write the file's name in path, or a folder and"
                        + " a slash where the server names it")
                return nil
            }
            path += name
        }
        do throws(TargetError) {
            return (try Target(path), isNamedByServer)
        } catch {
            let place = draft.path?.place ?? draft.url?.place ?? draft.place
            check.log.error(
                at: place, "path \(error)",
                correction: written.flatMap { .path($0) })
            return nil
        }
    }

    private func pieces(of draft: ResourceDraft, size: Int64?) -> Pieces? {
        guard let pieces = draft.pieces else { return nil }
        if let flaw = ManifestRules.flaw(of: pieces.value, size: size) {
            check.log.error(at: pieces.place, flaw)
        }
        return pieces.value
    }

    private func method(of draft: ResourceDraft) -> RequestMethod? {
        switch (draft.method?.value ?? "GET", draft.body) {
        case ("GET", nil): return .get
        case ("GET", let body?):
            check.log.error(at: body.place, "a GET has no body; add \"method\": \"POST\"")
        case ("POST", let body?): return .post(body: body.value)
        case ("POST", nil):
            if draft.hasBody { break }
            check.log.error(
                at: draft.method?.place ?? draft.place, "a POST needs a body; add \"body\"")
        case (let other, _):
            let place = draft.method?.place ?? draft.place
            let upper = other.uppercased()
            check.log.error(
                at: place, "method \(Quoted(other, limit: 40)): write GET or POST",
                correction: ["GET", "POST"].contains(upper) ? .value(other, upper) : nil)
        }
        return nil
    }

    private func warn(ofWeakDigests draft: ResourceDraft) {
        guard !isList, !draft.digests.contains(where: { $0.value.algorithm.isStrong }) else {
            return
        }
        for digest in draft.digests {
            check.log.warning(
                at: digest.place,
                "\(digest.value.algorithm.rawValue) is weak: it finds accidents, not attacks, and"
                    + " pins nothing; add sha256")
        }
    }
}
