/// A format in which mirror exports wanted files for another program.
package enum ExportFormat: String, Sendable, Hashable, CaseIterable {
    /// The input file of aria2.
    case aria2
    /// SHA256SUMS, as `sha256sum -c` reads it in the root.
    case sums
    /// Metalink 4.
    case metalink
    /// A folder for pip's `--find-links`.
    case wheelhouse
    /// Commands that put packages into npm's cache.
    case npmCache = "npm-cache"
    /// A folder for Bazel's `--distdir`.
    case bazelDistdir = "bazel-distdir"
    /// A BagIt bag (RFC 8493).
    case bagit
    /// A folder with files by their sha256, and the manifests.
    case store

    /// Whether the export is a folder with copies of the files, and not a text.
    package var isFolder: Bool {
        switch self {
        case .wheelhouse, .bazelDistdir, .bagit, .store: true
        case .aria2, .sums, .metalink, .npmCache: false
        }
    }

    /// Whether the export needs files in the tree, and not only what is known of them.
    var needsFiles: Bool { isFolder || self == .npmCache }

    /// The format's name in messages.
    package var title: String {
        switch self {
        case .aria2: "an aria2 input file"
        case .sums: "SHA256SUMS"
        case .metalink: "Metalink 4"
        case .wheelhouse: "a wheelhouse"
        case .npmCache: "commands for npm's cache"
        case .bazelDistdir: "a distdir of Bazel"
        case .bagit: "a BagIt bag"
        case .store: "a store"
        }
    }
}

/// Whether a wanted file goes into an export, and under which name.
enum ExportDecision: Sendable, Hashable {
    /// The file goes into the export. The name is relative to the root, or to the exported folder.
    case take(name: String)
    /// The file is not of the kind that the format is for.
    case pass
    /// The export leaves the file out: the format cannot express it, or too little is known of it.
    case omit(ExportOmission.Reason)
}

extension ExportFormat {
    /// Decides whether a resource's file goes into the export.
    ///
    /// - Parameters:
    ///   - resource: the resource, with what the index knows of its bytes.
    ///   - isThere: whether the tree has the wanted version at the target.
    func decision(on resource: Resource, isThere: Bool) -> ExportDecision {
        if needsFiles {
            // Without its version in the tree a file has no name in a store.
            if self == .store, !isThere { return .omit(.notThere) }
            guard let name = name(for: resource) else { return .pass }
            if !isThere { return .omit(.notThere) }
            if self == .npmCache, resource.isKnownToNPMBySHA1 { return .omit(.weakIntegrity) }
            return name.isEmpty ? .omit(.noName) : .take(name: name)
        }
        let path = resource.target.path
        if self == .sums {
            let isKnown = resource.digests.contains { $0.algorithm == .sha256 }
            return isKnown ? .take(name: path) : .omit(.noDigest)
        }
        if resource.method != .get { return .omit(.post) }
        if resource.primary.url.scheme == .file { return .omit(.localSource) }
        let headers = resource.primary.headers
        if headers.contains(where: { !$0.value.variables.isEmpty }) { return .omit(.secret) }
        if self == .metalink { return headers.isEmpty ? .take(name: path) : .omit(.headers) }
        // aria2 cuts white space at the ends of an option's value.
        return path.utf8.last == 0x20 ? .omit(.name) : .take(name: path)
    }

    /// Returns the file's name in the exported folder.
    ///
    /// Returns nil for a file of another kind. The name is empty if the file has none.
    private func name(for resource: Resource) -> String? {
        let name = resource.target.name
        switch self {
        case .wheelhouse:
            let isPackage =
                resource.target.fileExtension == "whl" || resource.tags.contains("sdist")
            return isPackage ? name : nil
        case .npmCache:
            let isPackage = resource.target.path.utf8.starts(with: "Caches/npm/".utf8)
            return isPackage || resource.target.fileExtension == "tgz" ? resource.target.path : nil
        // Bazel looks for the last part of the URL's path as it is written.
        case .bazelDistdir: return PathText.name(of: resource.primary.url.path)
        case .bagit: return "data/" + resource.target.path
        case .store:
            return resource.digests.first { $0.algorithm == .sha256 }.map(Store.name)
        case .aria2, .sums, .metalink: return resource.target.path
        }
    }
}

extension Resource {
    /// Whether npm would look for the package by its sha1, and so not find it in its cache.
    ///
    /// npm's cache has only the sha512 of a package that was added to it.
    fileprivate var isKnownToNPMBySHA1: Bool {
        let algorithms = digests.map(\.algorithm)
        return algorithms.contains(.sha1) && !algorithms.contains(.sha512)
    }

    /// The resource with only the sources that people on other machines can use.
    ///
    /// URLs lose their passwords. Mirrors that are files of this machine or need headers are left
    /// out.
    var withoutSecretsOfSources: Resource {
        var copy = self
        copy.primary.url = primary.url.withoutUserInfo
        copy.mirrors = mirrors.filter { $0.url.scheme != .file && $0.headers.isEmpty }
        for position in copy.mirrors.indices {
            copy.mirrors[position].url = copy.mirrors[position].url.withoutUserInfo
        }
        return copy
    }

    /// Returns the resource with the size and sha256 of the version that mirror put there.
    ///
    /// Returns nil if the resource wants another version.
    ///
    /// - Parameter isOfSource: whether the version came from one of the sources. This matters only
    ///   if the resource has no pin.
    func described(by record: IndexRecord, isOfSource: Bool) -> Resource? {
        let isWanted =
            if pin != nil { digests.contains(where: record.isProven) } else { isOfSource }
        guard isWanted, size == nil || size == record.stamp.size else { return nil }
        var described = self
        described.size = record.stamp.size
        if !digests.contains(record.sha256) {
            described.digests = digests + [record.sha256]
        }
        return described
    }
}

/// What an export holds, and what it leaves out.
package struct ExportReport: Sendable, Hashable {
    /// The format of the export.
    package var format: ExportFormat
    /// The path of the export. `nil` means that the caller got the export as a text.
    package var output: String?
    /// The number of files in the export.
    package var files = 0
    /// The number of bytes in copied files.
    package var bytes: Int64 = 0
    /// The number of files that are not of the kind that the format is for.
    package var passed = 0
    /// The number of files that a store had before.
    package var alreadyThere = 0
    /// The number of files that were left out because a list names them.
    package var excepted = 0
    /// The files that were left out, with one entry for each reason.
    package private(set) var omissions: [ExportOmission] = []

    /// Creates an empty report.
    init(format: ExportFormat) { self.format = format }

    /// Counts a file that is left out.
    mutating func omit(_ target: Target, _ reason: ExportOmission.Reason) {
        if let known = omissions.firstIndex(where: { $0.reason == reason }) {
            omissions[known].count += 1
        } else {
            omissions.append(ExportOmission(reason: reason, example: target))
        }
    }

    /// The error that reports all omissions. `nil` means that the export leaves nothing out.
    var refusal: MirrorError? {
        // A disk carries what is here, and other disks the rest.
        guard !omissions.isEmpty, format != .store else { return nil }
        let count = omissions.reduce(0) { $0 + $1.count }
        let words = omissions.map(\.sentence).joined(separator: "; ")
        return MirrorError(
            .exportIncomplete,
            "\(Counted(count, "file")) cannot be exported as \(format.rawValue), so nothing was written: \(words).",
            remedy: Remedy(.leaveOut))
    }

    /// The report as one JSON document.
    package var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("v", 1)
            json.member("format", format.rawValue)
            json.member("output", output)
            json.member("files", files)
            json.member("bytes", bytes)
            json.member("passed", passed)
            if format == .store {
                json.member("alreadyThere", alreadyThere)
                json.member("excepted", excepted)
            }
            json.objects("omitted", omissions) { omission, json in
                json.member("reason", omission.reason.rawValue)
                json.member("count", omission.count)
                json.member("example", omission.example.path)
            }
        }
        json.newline()
        return json.take()
    }
}

/// Files that an export leaves out for one reason.
package struct ExportOmission: Sendable, Hashable {
    /// Why the files were left out.
    let reason: Reason
    /// The number of files.
    var count = 1
    /// The target of one of the files.
    let example: Target

    /// A reason, as a word for scripts. Later versions may add reasons.
    struct Reason: RawRepresentable, Sendable, Hashable {
        /// The word.
        let rawValue: String

        /// Takes a word.
        init(rawValue: String) { self.rawValue = rawValue }

        /// The tree does not have the file, or has another version than the wanted one.
        static let notThere = Reason(rawValue: "not-there")
        /// The file's sha256 is not known.
        static let noDigest = Reason(rawValue: "no-digest")
        /// mirror asks for the file by POST.
        static let post = Reason(rawValue: "post")
        /// The file's source is a file of this machine.
        static let localSource = Reason(rawValue: "local-source")
        /// mirror sends the file's source a value of the environment.
        static let secret = Reason(rawValue: "secret")
        /// mirror sends the file's source headers.
        static let headers = Reason(rawValue: "headers")
        /// The format cannot express the file's name.
        static let name = Reason(rawValue: "name")
        /// The file's URL has no name.
        static let noName = Reason(rawValue: "no-name")
        /// Another file of the export has the same name.
        static let nameTaken = Reason(rawValue: "name-taken")
        /// Only the file's sha1 is known.
        static let weakIntegrity = Reason(rawValue: "weak-integrity")

        /// The reasons that this version knows.
        static let all: [Reason] = [
            .notThere, .noDigest, .post, .localSource, .secret, .headers, .name, .noName,
            .nameTaken, .weakIntegrity,
        ]

        /// The reason in words, which follow the number of files.
        var words: String {
            switch self {
            case .notThere: "not in the tree as the manifest wants it (mirror sync brings it)"
            case .noDigest: "of unknown sha256 (known once it is synced)"
            case .post: "asked for by POST"
            case .localSource: "with a source on this machine"
            case .secret: "whose source is sent a secret, which is not written out"
            case .headers: "whose source is sent headers"
            case .name: "with a space at the end of the name"
            case .noName: "whose URL has no name at its end"
            case .nameTaken: "with the name of another file"
            case .weakIntegrity: "known by sha1 only, by which npm does not find what is added"
            default: rawValue
            }
        }
    }

    /// The number, the reason and the example, as a part of a sentence.
    package var sentence: String { "\(count) \(reason.words), such as \(example.path.printable)" }
}
