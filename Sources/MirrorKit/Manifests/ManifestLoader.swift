internal import Glibc

/// Whether servers are asked for manifests.
enum ManifestRequests: Sendable {
    /// Servers are asked.
    case made
    /// The run is offline: last good copies serve, with a notice.
    case refused
    /// The command only looks: last good copies serve, without a notice.
    case needless
}

/// Reads manifests from files, from standard input, and over the network.
///
/// A manifest with a URL is requested with the validators of its last good copy. The copy is used
/// after a response 304, and while the network or the server fails. If the server responds that
/// there is no such manifest, the load fails.
struct ManifestLoader: Sendable {
    let view: TreeView
    let configuration: Configuration
    let requests: ManifestRequests
    /// Sources whose last good copy is used without a request.
    var fresh: Set<ManifestSource> = []
    /// The hint for sources that are lists of other programs.
    var hint = ListHint()
    /// Whether the further documents of a list in a file are left to a second load, which has the
    /// index.
    var leavesParts = false
    /// Shows the progress of the decoding. `nil` if no code listens.
    private let meter = ActivityMeter.current

    init(
        view: TreeView, configuration: Configuration, requests: ManifestRequests,
        fresh: Set<ManifestSource> = [], hint: ListHint = ListHint()
    ) {
        (self.view, self.configuration) = (view, configuration)
        (self.requests, self.fresh, self.hint) = (requests, fresh, hint)
    }

    /// A manifest that was read, with the facts to remember when its plan is executed.
    struct Loaded: Sendable {
        var decoded: DecodedManifest
        var memory: FetchedManifest?
        var notice: Notice?
        /// Until when the server's response is fresh.
        ///
        /// `nil` if the server gave no time, or if no request was made.
        var freshUntil: Instant?
    }

    /// Reads one manifest. Throws `ManifestError`, or `MirrorError` with `manifestUnreadable`.
    func load(_ source: ManifestSource) async throws -> Loaded {
        switch source {
        case .path(let path):
            let before = try hintFromBefore(of: path)
            let loaded = try await Offload.run {
                let wasFile = {
                    let memory = try? ManifestMemory.of(path, in: view)
                    return memory?.record.stamp != nil
                }
                do {
                    return try ManifestLoader.readFile(
                        at: path, hint: before ?? hint, meter: meter, wasFile: wasFile)
                } catch let refusal as ManifestError {
                    // The text at the path may be another list now, so the load tries again without
                    // the old hint.
                    guard before != nil,
                        let loaded = try? ManifestLoader.readFile(
                            at: path, hint: hint, meter: meter)
                    else { throw refusal }
                    return loaded
                } catch let error as MirrorError {
                    guard error.code == .manifestUnreadable,
                        let memory = try ManifestMemory.of(path, in: view),
                        let loaded = try memory.serveCopy(because: error.message)
                    else { throw error }
                    return loaded
                }
            }
            return leavesParts ? loaded : try await complete(loaded, source.label)
        case .standardInput:
            let loaded = try await Offload.run {
                meter?.begin(.decoding)
                defer { meter?.end() }
                var decoded = try ManifestReader.read(
                    descriptor: STDIN_FILENO, label: source.label, origin: .standardInput,
                    hint: hint, hasRead: { meter?.set(bytes: Int64($0)) })
                decoded.manifest.whereabouts = .standardInput
                decoded.manifest.label = source.label
                return Loaded(decoded: decoded)
            }
            return try await complete(loaded, source.label)
        case .url(let url): return try await fetch(url, hint)
        }
    }

    /// The hint that the list at a path was last synced with.
    ///
    /// Returns nil if there was no hint, or if the user gives a new one.
    private func hintFromBefore(of path: String) throws -> ListHint? {
        guard hint.isEmpty else { return nil }
        let known = try ManifestMemory.of(path, in: view)?.record.hint
        return known.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Reads a manifest that the root remembers: from its place, or else its last good copy.
    ///
    /// Throws `ManifestError`, or `MirrorError` with `manifestUnreadable`.
    func load(_ memory: ManifestMemory) async throws -> Loaded {
        guard case .url(let key) = memory.record.place else {
            let loaded = try await Offload.run { [meter] in try memory.read(meter) }
            return try await complete(loaded, memory.place)
        }
        if requests == .needless {
            guard let copy = try await Offload.run({ try memory.copied() }) else {
                throw ManifestLoader.noCopy(of: key.description)
            }
            return Loaded(decoded: copy)
        }
        if !key.text.utf8.contains(UInt8(ascii: "?")),
            let url = try? SourceURL(key.text, relativeTo: nil)
        {
            return try await fetch(url, memory.record.hint)
        }
        return try await Offload.run {
            let why =
                "\(key): its query is not kept, so the manifest cannot be asked for again."
            guard let loaded = try memory.serveCopy(because: why) else {
                throw MirrorError(.manifestUnreadable, "\(why) Name the whole URL.")
            }
            return loaded
        }
    }

    /// Adds the files of a list's further documents.
    ///
    /// The files come from the last good copy if the list and the hint are unchanged, else from the
    /// servers.
    private func complete(_ loaded: Loaded, _ label: String) async throws -> Loaded {
        if loaded.decoded.parts.isEmpty { return loaded }
        var loaded = loaded
        // A package index has the same files for a digest tomorrow; a folder on a server may have
        // others.
        let isOfIndex = loaded.decoded.parts.allSatisfy {
            if case .project = $0 { true } else { false }
        }
        if isOfIndex, let memory = loaded.memory, let path = memory.path,
            memory.record.stamp != nil,
            let known = try ManifestMemory.of(path, in: view),
            known.record.stamp == memory.record.stamp, known.record.hint == memory.record.hint,
            let copy = try known.copied()
        {
            loaded.decoded.manifest.resources = copy.manifest.resources
            loaded.decoded.manifest.leftOut = copy.leftOut
            loaded.decoded.parts = []
            loaded.memory?.text = nil
        } else if requests == .needless {
            guard let memory = loaded.memory, let path = memory.path,
                let known = try ManifestMemory.of(path, in: view), let copy = try known.copied()
            else { throw ManifestLoader.noCopy(of: label) }
            loaded = Loaded(decoded: copy)
            if known.record.stamp != memory.record.stamp {
                loaded.notice = Notice(
                    "\(label.printable): the list has changed since its last sync, whose files count."
                )
            }
        } else {
            if requests == .refused {
                throw MirrorError(
                    .offline,
                    "\(label.printable): the servers that have the rest of the list are not asked, because the run is offline.",
                    remedy: Remedy(.goOnline))
            }
            let (decoded, text) = try await ManifestFetch.using(configuration) {
                [list = loaded.decoded] fetch in
                var list = list
                let parts = ListParts(
                    fetch: fetch, label: label, hint: list.hint, format: list.list)
                let text = try await parts.complete(&list)
                return (list, text)
            }
            loaded.decoded = decoded
            if loaded.memory?.text != nil { loaded.memory?.text = text }
        }
        loaded.memory?.record.resources = loaded.decoded.manifest.resources.count
        return loaded
    }

    private func fetch(_ url: SourceURL, _ given: ListHint) async throws -> Loaded {
        let key = SourceKey(url)
        let known = try view.index?.manifests().first { $0.place == .url(key) }
        let hint = given.isEmpty ? known?.hint ?? given : given
        let copy = known.flatMap { ManifestCopy(of: $0, in: view.root) }
        if requests == .needless {
            guard let copy else { throw ManifestLoader.noCopy(of: url.description) }
            return try decode(copy, url)
        }
        if requests == .refused {
            return try serve(copy, url, because: MirrorError(.offline, "the run is offline"))
        }
        if fresh.contains(.url(url)), let copy { return try decode(copy, url) }
        return try await ManifestFetch.using(configuration) { fetch in
            try await load(url, hint, copy, with: fetch)
        }
    }

    private func load(
        _ url: SourceURL, _ hint: ListHint, _ copy: ManifestCopy?, with fetch: ManifestFetch
    ) async throws -> Loaded {
        let key = SourceKey(url)
        // A copy that was made with another hint is not used for a conditional request.
        let isAsBefore = copy.map { [hint, hint.withoutBase].contains($0.record.hint) } ?? true
        let version = isAsBefore ? copy?.version : nil
        switch try await fetch.get(url, key: key, ifChangedSince: version) {
        case .received(let body, let bytes):
            var hint = hint
            let answered = fetch.place(of: body.answer, asked: url)
            let next: SourceURL?
            do throws(MirrorError) {
                next = try ManifestFetch.next(after: body.answer, at: answered, of: url.description)
            } catch { return try serve(copy, url, because: error) }
            (hint.answeredBy, hint.goesOn) = (answered, next != nil)
            var decoded: DecodedManifest
            do {
                decoded = try bytes.decode(label: url.description, origin: .url(url), hint: hint)
            } catch {
                // A captive portal sends its own page in place of every server's response.
                guard body.answer.mediaType.map(MediaRange.isPage) == true,
                    copy != nil || answered.path.utf8.last != UInt8(ascii: "/")
                else { throw error }
                var page = MirrorError(
                    .typeMismatch,
                    "a page of HTML came in its place; the network may want a login.")
                page.isRetryable = true
                return try serve(copy, url, because: page)
            }
            if decoded.list != nil, let next { decoded.goOn(at: next) }
            var text = bytes
            let isWhole = decoded.parts.isEmpty
            if !isWhole {
                let parts = ListParts(
                    fetch: fetch, label: url.description, hint: decoded.hint, format: decoded.list)
                do {
                    text = try await parts.complete(&decoded)
                } catch var error as MirrorError where error.code != .cancelled {
                    let label = "\(url.description.printable): "
                    if error.message.hasPrefix(label) { error.message.removeFirst(label.count) }
                    return try serve(copy, url, because: error)
                }
            }
            decoded.manifest.whereabouts = .url(key)
            decoded.manifest.label = url.description
            var record = ManifestRecord(name: decoded.manifest.owner, place: .url(key))
            record.resources = decoded.manifest.resources.count
            record.hint = decoded.hint
            // The validators of a first page say nothing about the other pages.
            record.provenance = isWhole ? body.answer.provenance : nil
            record.validators = isWhole ? body.answer.validators : Validators()
            record.freshUntil = body.answer.freshUntil
            return Loaded(
                decoded: decoded, memory: FetchedManifest(record: record, text: text),
                notice: ManifestLoader.notice(ofPages: decoded.pages, at: url.description),
                freshUntil: record.freshUntil)
        case .notModified(let answer):
            guard let copy else {
                throw MirrorError(.internalError, "\(url): not modified, and there is no copy.")
            }
            var loaded = try decode(copy, url)
            loaded.freshUntil = answer.freshUntil
            return loaded
        case .failed(let error):
            return try serve(copy, url, because: error)
        }
    }

    /// Makes the error for a manifest that only servers have.
    private static func noCopy(of label: String) -> MirrorError {
        MirrorError(
            .manifestUnreadable,
            "\(label.printable): no server is asked, and no copy of this manifest is kept here yet.",
            remedy: Remedy(.syncFirst))
    }

    /// Says how many pages a list has. Returns nil for one page.
    private static func notice(ofPages pages: Int, at label: String) -> Notice? {
        pages > 1 ? Notice("\(label.printable): the list came in \(pages) pages.") : nil
    }

    private func decode(_ copy: ManifestCopy, _ url: SourceURL) throws -> Loaded {
        var decoded = try ManifestReader.read(
            descriptor: copy.file.number, label: url.description, origin: .url(url),
            hint: copy.record.copyHint)
        decoded.manifest.whereabouts = .url(SourceKey(url))
        decoded.manifest.label = url.description
        decoded.recallLeftOut(copy.file.number)
        return Loaded(decoded: decoded, memory: FetchedManifest(record: copy.record))
    }

    /// Returns the last good copy, with a notice, if the failure may pass.
    ///
    /// Otherwise throws the failure. A status 4xx other than 429 does not count as one that may
    /// pass.
    private func serve(
        _ copy: ManifestCopy?, _ url: SourceURL, because error: MirrorError
    ) throws -> Loaded {
        if copy == nil, error.code == .offline {
            throw MirrorError(
                .offline,
                "\(url): the manifest is not asked for, because the run is offline, and no copy of it is kept here yet.",
                remedy: Remedy(.goOnline)
            )
        }
        // 408 and 425 may pass, but were tried again already. A copy serves if network or server
        // fail.
        let isRefused = error.status.map { (400..<500).contains($0) && $0 != 429 } ?? false
        guard let copy, error.isRetryable, !isRefused else {
            let mightServe = copy == nil && error.isRetryable && !isRefused
            let hint = mightServe ? " No copy of it is kept here yet." : ""
            var failure = error
            failure.code = .manifestUnreadable
            failure.message =
                "\(url): the manifest cannot be fetched: \(ManifestFetch.reason(error))\(hint)"
            throw failure
        }
        var loaded = try decode(copy, url)
        // Using a copy does not make it newer, so its row stays as it is.
        loaded.memory = nil
        loaded.notice = Notice(
            "\(url): the manifest could not be fetched (\(error.code.rawValue)); the last good copy, \(copy.age), is used."
        )
        return loaded
    }
}

extension ManifestCopy {
    /// The age of the copy, for a sentence.
    var age: String {
        record.copiedAt.map { "\(DurationText(seconds: SystemClock.now().seconds(since: $0))) old" }
            ?? "of unknown age"
    }
}
