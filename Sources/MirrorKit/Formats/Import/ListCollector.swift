/// Makes resources of the files in a list, with the builder that manifests use.
///
/// A file that is listed twice becomes one resource. An entry that mirror cannot use is left out,
/// with its reason. Other doubts are counted, and each kind becomes one warning.
final class ListCollector {
    let builder: ManifestBuilder
    let format: ListFormat
    /// The further documents that belong to the list.
    var parts: [ListPart] = []
    /// The entries that the collector has left out, with their reasons.
    private(set) var leftOut: [LeftOutEntry] = []
    private var files = ListFiles()
    /// `projects`: the projects whose files a package index lists.
    ///
    /// `projectPositions`: the positions of the projects by their URLs.
    private var projects: [IndexedProject] = []
    private var projectPositions: [SourceURL: Int] = [:]
    private var notes: [ListNote] = []
    /// The position in `notes` of the note with each reason.
    private var notePositions: [String: Int] = [:]
    private var lacksBase = false
    /// The base that was given. `nil` once a file needed it.
    private(set) var unusedBase: SourceURL?

    var log: DiagnosticLog { builder.log }

    /// Knowledge about the list that its text does not have, such as its base or its format.
    let hint: ListHint

    init(_ format: ListFormat, builder: ManifestBuilder, hint: ListHint) {
        (self.format, self.builder, self.hint) = (format, builder, hint)
        // A list in a file does not show where its files are, so the file's folder is no base.
        let url: SourceURL? =
            if case .url(let url) = builder.check.origin { url } else { nil }
        builder.resourceBuilder.base = hint.base ?? url.flatMap(format.kind.base)
        // URLs on an index's page are relative to the URL that answered.
        if case .project? = hint.part { builder.resourceBuilder.base = hint.answeredBy }
        unusedBase = hint.base
        builder.nameByPlace = url.flatMap(format.kind.name)
        builder.resourceBuilder.isList = true
    }

    /// Adds a file. Leaves out the file if one of its values is wrong.
    func add(_ entry: ListEntry) {
        guard let url = url(of: entry) else { return }
        var resource: Resource?
        let flaw = log.takingErrorsBack { resource = self.resource(of: entry, at: url) }
        if let flaw {
            // `path "a/../b": it has …` loses the value, so that equal reasons can be counted.
            let reason = flaw.ranges(of: "\": ").first.map { mark in
                "\(flaw.prefix { $0 != " " }): \(flaw[mark.upperBound...])"
            }
            leaveOut(entry.url?.value ?? entry.path?.value ?? "", reason ?? flaw, at: entry.place)
        } else if let resource {
            files.add(resource, isNamedByURL: entry.path == nil)
        }
    }

    /// Adds a project. Its digests select files from a package index's page (PEP 503).
    ///
    /// - Parameter index: a URL that ends in a slash.
    func addProject(_ name: ListWord, _ digests: [Digest], at index: SourceURL) {
        let plain = name.value.lowercased().split { "-_.".contains($0) }.joined(separator: "-")
        let reference = SourceURL.reference(toName: plain) + "/"
        guard let url = try? SourceURL(reference, relativeTo: index) else {
            return leaveOut(name, "no page of a package index can have its name")
        }
        // One request serves all versions of a project that a list names.
        if let position = projectPositions[url] {
            projects[position].digests += digests
            return
        }
        projectPositions[url] = projects.count
        projects.append(
            IndexedProject(
                url: url, name: name.value, digests: digests, line: name.place.line,
                column: name.place.column))
    }

    private func resource(of entry: ListEntry, at url: ListWord) -> Resource? {
        guard !entry.isTooLong else {
            log.error(at: entry.place, "a value of it is longer than a manifest's may be")
            return nil
        }
        if unusedBase != nil, !([url] + entry.mirrors).allSatisfy({ $0.value.isURL }) {
            unusedBase = nil
        }
        let draft = builder.draft(at: entry.place)
        draft.url = url
        draft.path = (entry.path ?? name(of: entry, at: url)).map(beneathCaches)
        draft.mirrors = entry.mirrors.map { MirrorDraft(at: $0.place, url: $0) }
        draft.resource.size = entry.size.flatMap {
            builder.check.size(.untyped($0.value), "size", at: $0.place)
        }
        let wheel = draft.path.flatMap {
            WheelName(String($0.value.split(separator: "/").last ?? ""))
        }
        for tag in entry.tags + (wheel?.tags ?? []) {
            builder.check.addTag(.untyped(tag), to: &draft.tags, at: entry.place)
        }
        addDigests(of: entry, to: draft)
        for (name, value) in entry.headers {
            // In another program's list a dollar sign is an ordinary character.
            let text = value.value.parts(at: "$", keepingEmpty: true).joined(separator: "$$")
            builder.check.addHeader(
                name.value, .untyped(text), to: &draft.headers, nameAt: name.place,
                valueAt: value.place)
        }
        guard builder.resourceBuilder.complete(draft) else { return nil }
        draft.resource.likelySize = entry.likelySize
        return draft.resource
    }

    /// Returns the path of a file that its URL names: the last segment, in the entry's folder.
    ///
    /// Returns nil if the URL has no name at its end.
    private func name(of entry: ListEntry, at url: ListWord) -> ListWord? {
        guard var name = lastSegment(of: url) else { return nil }
        if let folder = entry.folder { name.value = folder + "/" + name.value }
        return name
    }

    /// Marks the base as used, though each file gets a full URL.
    func useBase() { unusedBase = nil }

    /// Leaves out an entry.
    ///
    /// - Parameters:
    ///   - name: what the list calls the entry.
    ///   - reason: why, in words that follow a comma.
    func leaveOut(_ name: String, _ reason: String, at place: TextPosition) {
        leftOut.append(LeftOutEntry(name, reason, at: place))
    }

    /// Leaves out the entry that a word names.
    func leaveOut(_ word: ListWord, _ reason: String) {
        leaveOut(word.value, reason, at: word.place)
    }

    /// Counts a doubt by its reason. Each reason becomes one warning.
    ///
    /// - Parameters:
    ///   - reason: the reason, in the words that follow the number.
    ///   - noun: what is counted.
    func note(
        _ reason: String, _ noun: String = "entry", plural: String? = nil, at place: TextPosition
    ) {
        if let known = notePositions[reason] {
            notes[known].count += 1
        } else {
            notePositions[reason] = notes.count
            let plural = plural ?? (noun == "entry" ? "entries" : nil)
            notes.append(ListNote(reason: reason, noun: noun, plural: plural, place: place))
        }
    }

    /// Whether mirror supports the scheme of a URL. If not, the entry is left out.
    ///
    /// - Parameter name: what the list calls the entry; nil stands for the URL.
    func speaks(_ url: ListWord, name: String? = nil) -> Bool {
        guard let reason = ListCollector.reasonOfScheme(url.value) else { return true }
        leaveOut(name ?? url.value, reason, at: url.place)
        return false
    }

    /// Returns the URLs of a file whose schemes mirror supports.
    ///
    /// Each other URL is noted. If no URL remains, the file is left out.
    func spoken(_ urls: [ListWord], name: String? = nil) -> [ListWord] {
        let spoken = urls.filter { ListCollector.reasonOfScheme($0.value) == nil }
        if spoken.isEmpty, let first = urls.first { _ = speaks(first, name: name) }
        guard !spoken.isEmpty, spoken.count < urls.count else { return spoken }
        for url in urls {
            guard let reason = ListCollector.reasonOfScheme(url.value) else { continue }
            note("left out: \(reason)", "source", at: url.place)
        }
        return spoken
    }

    /// Returns why mirror cannot ask for a URL.
    ///
    /// Returns nil if the scheme is supported, or if the text has no scheme.
    private static func reasonOfScheme(_ url: String) -> String? {
        guard let (scheme, _) = url.halves(atFirst: ":"), !scheme.utf8.contains(0x2F),
            URLScheme(rawValue: scheme.lowercased()) == nil
        else { return nil }
        return "mirror does not speak \(Escaped(scheme, limit: 40))"
    }

    /// Leaves out a line that does not belong to the format.
    func refuse(_ line: ListLine, _ flaw: String) {
        leaveOut(String(line.trimmed), "the line \(flaw)", at: line.place)
    }

    /// Counts a digest whose algorithm mirror does not compute.
    func noteUnknownDigest(_ name: String, at place: TextPosition) {
        note(
            "left out: \(Quoted(name, limit: 40)), which mirror does not compute", "digest",
            at: place)
    }

    /// Returns the last segment of a URL's path as a word.
    ///
    /// Returns nil if the URL is invalid or has no such segment.
    func lastSegment(of url: ListWord) -> ListWord? {
        guard let parsed = try? SourceURL(url.value, relativeTo: builder.resourceBuilder.base)
        else { return nil }
        return parsed.lastSegment.map { url.with($0) }
    }

    /// Passes the files to the builder, and logs the warnings and errors about the list as a whole.
    func finish() {
        parts += projects.map { .project($0) }
        let (resources, others) = files.finish()
        leftOut += others
        builder.take(tree: resources)
        for resource in resources { noteWeakDigest(of: resource) }
        if let unusedBase, parts.isEmpty {
            log.warning(
                at: TextPosition(),
                "no file needs the base \(unusedBase): each has a URL of its own")
        }
        for note in notes { log.warning(at: note.place, note.sentence) }
        // A further page, or a folder of a listing, may be empty.
        if resources.isEmpty, parts.isEmpty, hint.part == nil, !hint.goesOn, log.errorCount == 0 {
            log.error(at: TextPosition(), ListFiles.nothingLeft(of: format, leftOut))
        }
    }

    private func noteWeakDigest(of resource: Resource) {
        guard resource.pin == nil, let algorithm = resource.digests.first?.algorithm else { return }
        note(
            "with no digest better than \(algorithm.rawValue), which finds accidents, not attacks,"
                + " and pins nothing", "file",
            at: TextPosition(line: resource.line, column: resource.column))
    }

    private func url(of entry: ListEntry) -> ListWord? {
        if let url = entry.url { return url }
        guard let path = entry.path else { return nil }
        guard builder.resourceBuilder.base != nil else {
            refuseForLackOfBase(at: path.place)
            return nil
        }
        return path.with(SourceURL.reference(toName: path.value))
    }

    private func refuseForLackOfBase(at place: TextPosition) {
        guard !lacksBase else { return }
        lacksBase = true
        log.error(
            at: place,
            "\(format.kind.title) has names without URLs, so it does not say where they are",
            remedy: Remedy(.nameBase))
    }

    private func beneathCaches(_ path: ListWord) -> ListWord {
        // An absolute path stays absolute, so that it is refused as a target.
        let isAbsolute = path.value.utf8.first == UInt8(ascii: "/")
        let text =
            isAbsolute ? path.value : builder.resourceBuilder.defaults.directory + "/" + path.value
        // A path with one slash at its end would let the server name the file. A second slash makes
        // an empty component, so the path is refused.
        let isFolder = text.utf8.last == UInt8(ascii: "/")
        return path.with(isFolder ? text + "/" : text)
    }

    private func addDigests(of entry: ListEntry, to draft: ResourceDraft) {
        for (algorithm, hex) in entry.digests {
            draft.setDigest(algorithm, .untyped(hex.value), at: hex.place)
        }
        if let integrity = entry.integrity {
            draft.set(.integrity, .untyped(integrity.value), at: integrity.place)
        }
    }
}

/// One warning about all entries of a list that share a reason.
struct ListNote {
    let reason: String
    let noun: String
    let plural: String?
    let place: TextPosition
    var count = 1

    init(reason: String, noun: String, plural: String?, place: TextPosition) {
        (self.reason, self.noun, self.plural, self.place) = (reason, noun, plural, place)
    }

    /// `3 entries left out: …`, or only the reason if `noun` is empty.
    var sentence: String {
        noun.isEmpty ? reason : "\(Counted(count, noun, plural: plural)) \(reason)"
    }
}

/// A file of a list, as the list describes it.
struct ListEntry {
    /// The place at which the list describes the file.
    var place: TextPosition
    /// The file's URL. `nil` means that the list has only names, relative to the list's base.
    var url: ListWord?
    /// The file's path in `Caches/`. `nil` means the last segment of its URL, in `folder`.
    var path: ListWord?
    /// The folder of a file that is named by its URL. `nil` means `Caches/` itself.
    var folder: String?
    /// Further URLs of the same bytes.
    var mirrors: [ListWord] = []
    var size: ListWord?
    /// An approximate size in bytes, which proves nothing.
    var likelySize: Int64?
    /// Digests in hexadecimal digits.
    var digests: [(algorithm: DigestAlgorithm, hex: ListWord)] = []
    /// A digest as Subresource Integrity.
    var integrity: ListWord?
    var headers: [(name: ListWord, value: ListWord)] = []
    var tags: [String] = []

    /// Makes an entry for a file that the list describes at a place.
    init(at place: TextPosition) { self.place = place }

    /// Makes an entry for a file whose path, and whose URL below the base, are one name.
    init(named name: ListWord) {
        place = name.place
        path = name
    }

    /// Sets the URLs of the file, the first of which is asked first.
    mutating func setSources(_ urls: [ListWord]) {
        (url, mirrors) = (urls.first, Array(urls.dropFirst()))
    }

    /// Whether a value is longer than mirror accepts in a manifest.
    var isTooLong: Bool {
        let words = [url, path, size, integrity].compactMap(\.self) + mirrors + digests.map(\.hex)
        // A dollar sign in a header is doubled.
        let values = words.map(\.value) + tags
        return values.contains { $0.utf8.count > JSONTokenizer.longestText }
            || headers.contains {
                max($0.name.value.utf8.count, 2 * $0.value.value.utf8.count)
                    > JSONTokenizer.longestText
            }
    }

    /// Adds a digest such as `sha256:…` or `sha256=…`.
    ///
    /// Returns false if mirror has no such algorithm.
    mutating func addDigest(_ word: ListWord, at mark: Unicode.Scalar) -> Bool {
        guard let (name, hex) = word.value.halves(atFirst: mark) else { return false }
        return addDigest(String(name), word.with(hex))
    }

    /// Adds a digest. Returns false if mirror has no such algorithm.
    mutating func addDigest(_ name: String, _ hex: ListWord) -> Bool {
        let plain = name.lowercased().split(separator: "-").joined()
        guard let algorithm = DigestAlgorithm(rawValue: plain) else { return false }
        digests.append((algorithm, hex))
        return true
    }
}

/// The entries that were left out of a list of several documents.
///
/// The copy of the list that a root keeps is a manifest, which has these entries as a note.
extension [LeftOutEntry] {
    private static var noteKey: StaticString { "x-left-out" }

    /// Puts the note in front of the other keys of a manifest's text in JSON.
    func addNote(to text: inout [UInt8]) {
        guard !isEmpty, text.first == UInt8(ascii: "{") else { return }
        var json = JSONWriter()
        json.object { json in
            json.key(Self.noteKey)
            json.array { json in
                for entry in self { entry.write(to: &json) }
            }
        }
        text = json.take().dropLast() + [UInt8(ascii: ",")] + text.dropFirst()
    }

    /// Reads the entries in the note of a manifest's text.
    ///
    /// The result is empty if the text's first key is no such note.
    init(noteIn descriptor: Int32) {
        self = []
        let log = DiagnosticLog(file: "")
        do throws(DecodingStop) {
            var tokens = try JSONTokenizer(ManifestBytes(descriptor: descriptor), log: log)
            guard case .beginObject = try tokens.next(), case .key = try tokens.next(),
                tokens.string == "\(Self.noteKey)"
            else { return }
            let note = try JSONTree(try tokens.next(), &tokens)
            self = note.elements.compactMap { entry in
                guard let name = entry["name"]?.string, let reason = entry["reason"]?.string else {
                    return nil
                }
                let number = { (key: String) in Int(entry[key]?.number?.value ?? "") ?? 0 }
                return LeftOutEntry(name, reason, line: number("line"), column: number("column"))
            }
        } catch {}
    }
}

extension LeftOutEntry {
    init(_ name: String, _ reason: String, at place: TextPosition) {
        self.init(name, reason, line: place.line, column: place.column)
    }
}

extension ManifestError {
    /// Throws an error that names the entries left out of manifests. Returns if there are none.
    package static func refuseGaps(in manifests: [Manifest]) throws(ManifestError) {
        let gaps = manifests.flatMap { manifest in
            manifest.leftOut.map { (file: manifest.label ?? manifest.owner, entry: $0) }
        }
        if gaps.isEmpty { return }
        let shown = gaps.prefix(DiagnosticLog.limit).map { file, entry in
            Diagnostic(
                file: file, line: entry.line, column: entry.column, severity: .error,
                message: "\(Quoted(entry.name, limit: 80)): \(entry.reason)")
        }
        throw ManifestError(diagnostics: shown, omitted: gaps.count - shown.count)
    }
}
