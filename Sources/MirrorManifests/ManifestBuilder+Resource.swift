internal import MirrorModel

extension ManifestBuilder {
    /// Sets a key of a resource that has one value; the decoder walks through the other keys.
    package func set(
        _ key: ResourceKey, _ value: WrittenValue, of draft: ResourceDraft,
        at place: TextPosition
    ) {
        let name = key.rawValue
        switch key {
        case .path:
            draft.path = text(value, name, at: place).map { Located(value: $0, place: place) }
        case .url:
            draft.hasURL = true
            draft.url = text(value, name, at: place).map { Located(value: $0, place: place) }
        case .size: draft.size = size(value, name, at: place)
        case .sha256, .sha512, .sha1, .md5:
            guard let algorithm = DigestAlgorithm(rawValue: name) else { return }
            setDigest(algorithm, value, of: draft, at: place)
        case .integrity: setIntegrity(value, of: draft, at: place)
        case .type:
            guard let text = text(value, name, at: place) else { return }
            draft.type = MediaRange(text)
            if draft.type == nil {
                log.error(
                    at: place,
                    "type \(Quoted(text)) is no media type; write one such as application/json,"
                        + " without parameters",
                    correction: CertainText.mediaType(text))
            }
        case .refresh: draft.refresh = refresh(value, at: place)
        case .method:
            draft.method = text(value, name, at: place).map { Located(value: $0, place: place) }
        case .body:
            draft.hasBody = true
            guard let text = text(value, name, at: place, isSecret: true) else { return }
            do throws(TemplateFlaw) {
                draft.body = Located(value: try Template(text), place: place)
            } catch {
                log.error(at: place, "body: \(error)")
            }
        case .priority: draft.priority = priority(value, at: place)
        case .executable: draft.isExecutable = boolean(value, name, at: place)
        case .optional: draft.isOptional = boolean(value, name, at: place)
        case .urgent: draft.isUrgent = boolean(value, name, at: place)
        case .tags: draft.tags = tags(value, at: place)
        case .mirrors, .headers, .pieces: wrongKind(value, name, at: place)
        }
    }

    /// Sets a digest that is written in hexadecimal digits.
    func setDigest(
        _ algorithm: DigestAlgorithm, _ value: WrittenValue, of draft: ResourceDraft,
        at place: TextPosition
    ) {
        guard let text = text(value, algorithm.rawValue, at: place) else { return }
        do throws(DigestFlaw) {
            add(try Digest(algorithm, declared: text), to: draft, at: place)
        } catch {
            log.error(
                at: place, "\(algorithm.rawValue) \(Quoted(text, limit: 40)): \(error)",
                correction: CertainText.digest(text, algorithm, error))
        }
    }

    private func setIntegrity(
        _ value: WrittenValue, of draft: ResourceDraft, at place: TextPosition
    ) {
        guard let text = text(value, "integrity", at: place) else { return }
        do throws(IntegrityFlaw) {
            add(try Integrity.strongest(in: text), to: draft, at: place)
        } catch {
            log.error(at: place, "integrity \(Quoted(text, limit: 40)): \(error)")
        }
    }

    private func add(_ digest: Digest, to draft: ResourceDraft, at place: TextPosition) {
        let other = draft.digests.first { $0.value.algorithm == digest.algorithm }
        if let other {
            if other.value != digest {
                log.error(
                    at: place,
                    "this \(digest.algorithm.rawValue) is \(digest.hex.prefix(12))…, line"
                        + " \(other.place.line) says \(other.value.hex.prefix(12))…; keep the right"
                        + " one")
            }
            return
        }
        draft.digests.append(Located(value: digest, place: place))
    }

    /// Adds the digest of one piece.
    func addPiece(_ value: WrittenValue, to pieces: PiecesDraft, at place: TextPosition) {
        guard let text = text(value, "a piece's sha256", at: place) else {
            pieces.isSound = false
            return
        }
        do throws(DigestFlaw) {
            pieces.packed += try Digest(.sha256, declared: text).bytes
        } catch {
            log.error(
                at: place, "a piece's sha256 \(Quoted(text, limit: 40)): \(error)",
                correction: CertainText.digest(text, .sha256, error))
            pieces.isSound = false
        }
    }

    /// Ends the pieces.
    package func finish(_ pieces: PiecesDraft, of draft: ResourceDraft) {
        guard pieces.isSound else { return }
        guard let length = pieces.length, length > 0 else {
            log.error(at: pieces.place, "pieces need a length of at least 1 byte")
            return
        }
        guard let value = Pieces(length: length, packed: pieces.packed) else {
            log.error(at: pieces.place, "pieces need at least one sha256")
            return
        }
        draft.pieces = Located(value: value, place: pieces.place)
    }

    /// Makes a resource of a draft; nil if that is impossible, and then the log has the reason.
    package func resource(from draft: ResourceDraft) -> Resource? {
        guard let text = draft.url else {
            if !draft.hasURL { log.error(at: draft.place, "the resource has no url; add one") }
            return nil
        }
        let parsed = url(text.value, "url", relativeTo: base, at: text.place)
        let mirrors = draft.mirrors.compactMap { mirror in
            mirrorURL(mirror).map { Source(url: $0, headers: mirror.headers) }
        }
        guard let url = parsed, let (target, isNamedByServer) = target(of: draft, url: url)
        else { return nil }

        let headers = defaults.headers.overlaid(with: draft.headers)
        var resource = Resource(target: target, url: url, headers: headers)
        resource.isNamedByServer = isNamedByServer
        for mirror in mirrors {
            // The resource's headers may hold a token for its own origin, so other origins do not
            // get them.
            let inherited = mirror.url.origin == url.origin ? headers : []
            let source = Source(
                url: mirror.url, headers: inherited.overlaid(with: mirror.headers))
            if !resource.sources.contains(source) { resource.mirrors.append(source) }
        }
        resource.size = draft.size
        resource.digests = draft.digests.map(\.value).sorted { $0.algorithm > $1.algorithm }
        warn(ofWeakDigests: draft)
        resource.pieces = pieces(of: draft)
        resource.mediaType = draft.type
        resource.refresh =
            draft.refresh ?? defaults.refresh ?? (resource.pin != nil ? .never : .always)
        resource.method = method(of: draft) ?? .get
        resource.priority = draft.priority ?? defaults.priority
        resource.isExecutable = draft.isExecutable
        resource.isOptional = draft.isOptional
        resource.isUrgent = draft.isUrgent
        resource.tags =
            draft.tags.isEmpty
            ? defaults.tags : defaults.tags + draft.tags.filter { !defaults.tags.contains($0) }
        resource.line = draft.place.line
        resource.column = draft.place.column
        return resource
    }

    private func mirrorURL(_ mirror: MirrorDraft) -> SourceURL? {
        guard let text = mirror.url else {
            log.error(at: mirror.place, "the mirror has no url; add one")
            return nil
        }
        return url(text.value, "mirror", relativeTo: base, at: text.place)
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
                log.error(
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
            log.error(
                at: place, "path \(Quoted(path)): \(error)",
                correction: written.flatMap { CertainText.path($0) })
            return nil
        }
    }

    private func pieces(of draft: ResourceDraft) -> Pieces? {
        guard let pieces = draft.pieces else { return nil }
        if let size = draft.size, !pieces.value.fits(size: size) {
            log.error(
                at: pieces.place,
                "\(Counted(pieces.value.count, "piece")) of \(Counted(pieces.value.length, "byte"))"
                    + " \(Counted.verb(pieces.value.count, "is", "are")) not a file of"
                    + " \(Counted(size, "byte"))")
        }
        return pieces.value
    }

    private func method(of draft: ResourceDraft) -> RequestMethod? {
        switch (draft.method?.value ?? "GET", draft.body) {
        case ("GET", nil): return .get
        case ("GET", let body?):
            log.error(at: body.place, "a GET has no body; add \"method\": \"POST\"")
        case ("POST", let body?): return .post(body: body.value)
        case ("POST", nil):
            if draft.hasBody { break }
            log.error(at: draft.method?.place ?? draft.place, "a POST needs a body; add \"body\"")
        case (let other, _):
            let place = draft.method?.place ?? draft.place
            let upper = other.uppercased()
            log.error(
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
            log.warning(
                at: digest.place,
                "\(digest.value.algorithm.rawValue) is weak: it finds accidents, not attacks, and"
                    + " pins nothing; add sha256")
        }
    }
}
