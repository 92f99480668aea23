/// Fetches the further documents of a list: pages, folders, and the projects of a package index.
struct ListParts {
    let fetch: ManifestFetch
    /// The list as the user named it, for messages.
    let label: String
    /// The hint for reading the list.
    let hint: ListHint
    /// The format of the list's first document.
    let format: ListFormat?

    /// The greatest number of pages; S3 puts a thousand keys into one.
    private static let mostPages = 10_000
    /// The greatest number of entries in the folders of a directory listing.
    private static let mostListed = 100_000
    /// How many documents are requested at once.
    private static let mostAtOnce = 8
    /// The Accept header for a package index (PEP 691).
    private static let indexTypes =
        "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"

    /// A document that was fetched and read.
    private struct Document: Sendable {
        let part: ListPart
        let decoded: DecodedManifest
        /// Why the list cannot be used: the package index lacks files. `nil` for any other
        /// document.
        var refusal: ManifestError?

        init(part: ListPart, decoded: DecodedManifest) {
            (self.part, self.decoded) = (part, decoded)
        }

        /// A project some of whose files the package index lacks.
        init(lacking refusal: ManifestError, _ part: ListPart) {
            self.init(part: part, decoded: DecodedManifest(leavingOut: "", ""))
            self.refusal = refusal
        }

        /// A folder that is left out of a directory listing. Throws `refusal` for a part of another
        /// kind.
        init(leavingOut part: ListPart, _ refusal: ManifestError, _ reason: String) throws {
            guard case .folder(let folder) = part else { throw refusal }
            self.part = part
            decoded = DecodedManifest(leavingOut: folder.path, "a folder: \(reason)")
        }
    }

    /// Fetches all further documents of a list and adds their files to it.
    ///
    /// Returns the whole list as the text of a manifest. Throws `ManifestError`, or `MirrorError`
    /// with `manifestUnreadable` or the reason of a failed request.
    func complete(_ decoded: inout DecodedManifest) async throws -> ManifestText {
        var files = ListFiles()
        for resource in decoded.manifest.resources { files.add(resource) }
        var leftOut = decoded.leftOut
        var queue = decoded.parts
        var seen = Set(queue.map(\.url))
        var pages = 1
        var lacks: [Diagnostic] = []
        try await withThrowingTaskGroup(of: Document.self) { group in
            var running = 0
            while true {
                while running < ListParts.mostAtOnce, let part = queue.popLast() {
                    running += 1
                    group.addTask { try await document(part) }
                }
                guard let document = try await group.next() else { break }
                running -= 1
                if let refusal = document.refusal {
                    lacks += refusal.diagnostics
                    continue
                }
                let page = document.decoded
                let before = (files.count, seen.count)
                for resource in page.manifest.resources { files.add(resource) }
                leftOut += page.leftOut
                var next: ListPart?
                for part in page.parts {
                    if part.isNextPage {
                        next = part
                    } else if seen.insert(part.url).inserted {
                        queue.append(part)
                    }
                }
                if document.part.isNextPage { pages += 1 }
                if let next {
                    // If a page has nothing new, further pages could follow without end.
                    let isNew = (files.count, seen.count) != before || !page.leftOut.isEmpty
                    guard isNew, seen.insert(next.url).inserted, pages < ListParts.mostPages else {
                        throw endless(after: pages)
                    }
                    queue.append(next)
                }
                if decoded.list == .index,
                    files.count + seen.count + leftOut.count > ListParts.mostListed
                {
                    throw MirrorError(
                        .manifestInvalid,
                        "\(label.printable): the listing has more than \(ListParts.mostListed) entries. Name a folder in it, or a lesser depth."
                    )
                }
            }
        }
        if !lacks.isEmpty {
            let shown = lacks.prefix(DiagnosticLog.limit)
            throw ManifestError(diagnostics: Array(shown), omitted: lacks.count - shown.count)
        }
        try finish(&decoded, files, leftOut, pages: pages)
        var text: [UInt8] = []
        try ManifestWriter(.json, label: label).write(decoded.manifest) { text += $0 }
        decoded.leftOut.addNote(to: &text)
        return .memory(text)
    }

    private func finish(
        _ decoded: inout DecodedManifest, _ files: ListFiles, _ leftOut: [LeftOutEntry],
        pages: Int
    ) throws {
        decoded.pages = pages
        var files = files
        var (resources, others) = files.finish()
        // Folders and projects arrive in any order, so the files are sorted. Pages arrive in their
        // own order.
        if pages == 1 {
            let order = resources.indices.sorted {
                resources.target(at: $0) < resources.target(at: $1)
            }
            resources = ResourceTable(order.lazy.map { [resources] in resources[$0] })
        }
        decoded.manifest.leftOut = leftOut + others
        decoded.parts = []
        guard !resources.isEmpty else {
            let format = decoded.list ?? .index
            throw ManifestError(
                file: label, at: TextPosition(),
                ListFiles.nothingLeft(of: format, decoded.leftOut))
        }
        decoded.manifest.resources = resources
        do throws(MirrorError) { try decoded.manifest.validate() } catch {
            throw MirrorError(error.code, "\(label.printable): \(error.message)")
        }
    }

    private func endless(after pages: Int) -> MirrorError {
        MirrorError(
            .manifestUnreadable,
            "\(label.printable): the listing does not end: after \(Counted(pages, "page")) its pages repeat each other."
        )
    }

    private func document(_ part: ListPart) async throws -> Document {
        let url = part.url
        let isProject = if case .project = part { true } else { false }
        let accept = isProject ? ListParts.indexTypes : nil
        switch try await fetch.get(url, key: SourceKey(url), accept: accept) {
        case .received(let body, let text):
            let answered = fetch.place(of: body.answer, asked: url)
            if case .folder = part, answered.origin != url.origin {
                return try Document(
                    leavingOut: part, ManifestError(diagnostics: [], omitted: 0),
                    "another server has it")
            }
            let next = try ManifestFetch.next(after: body.answer, at: answered, of: label)
            var hint = hint
            (hint.part, hint.answeredBy, hint.goesOn) = (part, answered, next != nil)
            if case .page = part { hint.format = hint.format ?? format }
            var decoded: DecodedManifest
            do {
                decoded = try text.decode(
                    label: isProject ? label : url.description, origin: .url(url), hint: hint)
            } catch let refusal as ManifestError {
                if case .project(let project) = part {
                    let name = Escaped(project.name, limit: 80).description + ": "
                    let first = refusal.diagnostics.first?.message ?? ""
                    if first.hasPrefix(name) { return Document(lacking: refusal, part) }
                    throw MirrorError(
                        .manifestUnreadable,
                        "\(label.printable): \(name)\(answered) is no page of a package index: \(first). Check the index."
                    )
                }
                return try Document(leavingOut: part, refusal, "no directory listing")
            }
            if let next { decoded.goOn(at: next, part) }
            return Document(part: part, decoded: decoded)
        case .notModified:
            throw MirrorError(
                .internalError, "\(url): the server answered 304 to an unconditional request.")
        case .failed(var error):
            if let status = error.status, (400..<500).contains(status), !error.isRetryable {
                let refusal = ManifestError(file: label, at: TextPosition(), error.message)
                if let document = try? Document(
                    leavingOut: part, refusal, "the server answered \(status)")
                {
                    return document
                }
            }
            let what =
                if case .project(let project) = part {
                    "the page of \(Escaped(project.name, limit: 80))"
                } else { "a part of the list" }
            if error.code != .cancelled { error.code = .manifestUnreadable }
            error.message =
                "\(label.printable): \(what) cannot be fetched: \(ManifestFetch.reason(error)) (\(url))"
            throw error
        }
    }
}
