/// What another program reads, made of the files that manifests want.
public enum ExportFormat: String, Sendable, Hashable, CaseIterable {
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

    /// Whether it is a folder with copies of the files, and not a text.
    public var isFolder: Bool {
        switch self {
        case .wheelhouse, .bazelDistdir, .bagit: true
        case .aria2, .sums, .metalink, .npmCache: false
        }
    }

    /// Whether it is about files that the tree has, and not only about what is known of them.
    package var needsFiles: Bool { isFolder || self == .npmCache }

    /// What people call it.
    public var title: String {
        switch self {
        case .aria2: "an aria2 input file"
        case .sums: "SHA256SUMS"
        case .metalink: "Metalink 4"
        case .wheelhouse: "a wheelhouse"
        case .npmCache: "commands for npm's cache"
        case .bazelDistdir: "a distdir of Bazel"
        case .bagit: "a BagIt bag"
        }
    }
}

/// Whether a wanted file goes into an export, and under which name.
package enum ExportDecision: Sendable, Hashable {
    /// It does; the name is relative to the root, or to the folder that is made.
    case take(name: String)
    /// It is not of the kind that the format is for.
    case pass
    /// The format cannot say it, or there is nothing to say.
    case omit(ExportOmission.Reason)
}

extension ExportFormat {
    /// Decides about a resource.
    ///
    /// - Parameters:
    ///   - resource: the resource, with what the index knows of its bytes.
    ///   - isThere: whether the tree has a file at the target, of the version that is wanted.
    package func decision(on resource: Resource, isThere: Bool) -> ExportDecision {
        if needsFiles {
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

    /// The name in the folder that is made; nil for a file of another kind, empty if there is none.
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
        case .aria2, .sums, .metalink: return resource.target.path
        }
    }
}

extension Resource {
    /// Whether npm would look for the package by its sha1; what is added to its cache has a sha512.
    fileprivate var isKnownToNPMBySHA1: Bool {
        let algorithms = digests.map(\.algorithm)
        return algorithms.contains(.sha1) && !algorithms.contains(.sha512)
    }

    /// The resource with sources that others can use: without passwords, and without mirrors that are
    /// files of this machine or need headers.
    package var withoutSecretsOfSources: Resource {
        var copy = self
        copy.primary.url = primary.url.withoutUserInfo
        copy.mirrors = mirrors.filter { $0.url.scheme != .file && $0.headers.isEmpty }
        for position in copy.mirrors.indices {
            copy.mirrors[position].url = copy.mirrors[position].url.withoutUserInfo
        }
        return copy
    }

    /// The resource with the size and sha256 of the version that mirror put there.
    ///
    /// Nil if that is not the version that the resource wants.
    ///
    /// - Parameter isOfSource: whether the version came from one of the sources; it counts only
    ///   where no digest tells.
    package func described(by record: IndexRecord, isOfSource: Bool) -> Resource? {
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
public struct ExportReport: Sendable, Hashable {
    /// What was made.
    public var format: ExportFormat
    /// Where it was written; nil for a text that was passed to the caller.
    public var output: String?
    /// The files in it.
    public var files = 0
    /// The bytes of the files that were copied.
    public var bytes: Int64 = 0
    /// Files that are not of the kind that the format is for.
    public var passed = 0
    /// What was left out, and why; each reason once.
    public private(set) var omissions: [ExportOmission] = []

    /// A report on nothing yet.
    public init(format: ExportFormat) { self.format = format }

    /// Counts a file that is left out.
    package mutating func omit(_ target: Target, _ reason: ExportOmission.Reason) {
        if let known = omissions.firstIndex(where: { $0.reason == reason }) {
            omissions[known].count += 1
        } else {
            omissions.append(ExportOmission(reason: reason, example: target))
        }
    }

    /// The error about everything that would be left out; nil if nothing would.
    package var refusal: MirrorError? {
        guard !omissions.isEmpty else { return nil }
        let count = omissions.reduce(0) { $0 + $1.count }
        let words = omissions.map(\.sentence).joined(separator: "; ")
        return MirrorError(
            .exportIncomplete,
            "\(Counted(count, "file")) cannot be exported as \(format.rawValue), so nothing was written: \(words).",
            remedy: Remedy(.leaveOut))
    }

    /// The report as one JSON document.
    public var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("v", 1)
            json.member("format", format.rawValue)
            json.member("output", output)
            json.member("files", files)
            json.member("bytes", bytes)
            json.member("passed", passed)
            json.key("omitted")
            json.array { json in
                for omission in omissions {
                    json.object { json in
                        json.member("reason", omission.reason.rawValue)
                        json.member("count", omission.count)
                        json.member("example", omission.example.path)
                    }
                }
            }
        }
        json.newline()
        return json.take()
    }
}

/// Files that an export leaves out for one reason.
public struct ExportOmission: Sendable, Hashable {
    /// Why.
    public let reason: Reason
    /// How many.
    public var count = 1
    /// One of them.
    public let example: Target

    /// A reason, as a word for scripts. More may come.
    public struct Reason: RawRepresentable, Sendable, Hashable {
        /// The word.
        public let rawValue: String

        /// Takes a word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// It is not in the tree, or in another version than the wanted one.
        public static let notThere = Reason(rawValue: "not-there")
        /// Its sha256 is not known.
        public static let noDigest = Reason(rawValue: "no-digest")
        /// It is asked for by POST.
        public static let post = Reason(rawValue: "post")
        /// Its source is a file of this machine.
        public static let localSource = Reason(rawValue: "local-source")
        /// Its source is sent a value of the environment.
        public static let secret = Reason(rawValue: "secret")
        /// Its source is sent headers.
        public static let headers = Reason(rawValue: "headers")
        /// Its name cannot be written.
        public static let name = Reason(rawValue: "name")
        /// Its URL has no name.
        public static let noName = Reason(rawValue: "no-name")
        /// Another file has its name already.
        public static let nameTaken = Reason(rawValue: "name-taken")
        /// Only its sha1 is known.
        public static let weakIntegrity = Reason(rawValue: "weak-integrity")

        /// The reasons that this version knows.
        package static let all: [Reason] = [
            .notThere, .noDigest, .post, .localSource, .secret, .headers, .name, .noName,
            .nameTaken, .weakIntegrity,
        ]

        /// The reason in words, as they follow the number of files.
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

    init(reason: Reason, example: Target) {
        self.reason = reason
        self.example = example
    }

    /// The number, the reason and the example, as a part of a sentence.
    public var sentence: String { "\(count) \(reason.words), such as \(example.path.printable)" }
}
