/// What an export holds, and what it leaves out.
public struct ExportReport: Sendable, Hashable {
    /// What was made.
    public var format: ExportFormat
    /// Where it was written; nil for a text that was handed on.
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
