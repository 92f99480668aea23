internal import MirrorModel

/// Makes resources of drafts: what a draft leaves open, the manifest's base and defaults say.
final class ResourceBuilder {
    let check: ValueCheck
    /// The URL against which relative URLs are resolved.
    var base: SourceURL?
    var defaults = ManifestDefaults()
    /// Whether the text is a list of another program, whose doubts are counted by their kind.
    var isList = false

    init(_ check: ValueCheck) {
        self.check = check
        base = check.origin.ownURL
    }

    /// Makes a resource of a draft; nil if that is impossible, and then the log has the reason.
    func resource(from draft: ResourceDraft) -> Resource? {
        guard let text = draft.url else {
            if !draft.hasURL {
                check.log.error(at: draft.place, "the resource has no url; add one")
            }
            return nil
        }
        let parsed = check.url(text.value, "url", relativeTo: base, at: text.place)
        let mirrors = draft.mirrors.compactMap { mirror in
            mirrorURL(mirror).map { (url: $0, draft: mirror) }
        }
        guard let url = parsed, let (target, isNamedByServer) = target(of: draft, url: url)
        else { return nil }

        let headers = defaults.headers.elements.overlaid(with: draft.headers.elements)
        var resource = draft.resource
        resource.target = target
        resource.primary = Source(url: url, headers: headers)
        resource.isNamedByServer = isNamedByServer
        // Sources with one URL and the same headers of their own inherit the same others.
        var known: Set<Source> = mirrors.isEmpty ? [] : [Source(url: url)]
        for mirror in mirrors {
            let own = mirror.draft.headers.elements
            guard known.insert(Source(url: mirror.url, headers: own)).inserted else { continue }
            // The resource's headers may hold a token for its own origin, so other origins do not
            // get them.
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
        resource.pieces = pieces(of: draft)
        resource.refresh =
            draft.refresh ?? defaults.refresh ?? (resource.pin != nil ? .never : .always)
        resource.method = method(of: draft) ?? .get
        let tags = draft.tags.elements
        resource.tags =
            tags.isEmpty
            ? defaults.tags.elements
            : defaults.tags.elements + tags.filter { !defaults.tags.contains($0) }
        return resource
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
            let provisional = isNamedByServer ? ProvisionalName.make(for: url) : nil
            guard let name = url.lastSegment ?? provisional else {
                check.log.error(
                    at: draft.path?.place ?? draft.url?.place ?? draft.place,
                    "the URL \(url) ends in no file name; write the file's name in path, or a folder and"
                        + " a slash where the server names it")
                return nil
            }
            path += name
        }
        do throws(TargetFlaw) {
            return (try Target(path), isNamedByServer)
        } catch {
            let place = draft.path?.place ?? draft.url?.place ?? draft.place
            check.log.error(
                at: place, "path \(error)",
                correction: written.flatMap { CertainText.path($0) })
            return nil
        }
    }

    private func pieces(of draft: ResourceDraft) -> Pieces? {
        guard let pieces = draft.pieces else { return nil }
        if let flaw = ManifestRules.flaw(of: pieces.value, size: draft.resource.size) {
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
