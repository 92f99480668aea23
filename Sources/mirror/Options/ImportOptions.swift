import ArgumentParser
import MirrorKit
import MirrorModel

/// How lists of other programs are read.
struct ImportOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Read a list as this format, whatever it looks like: urls, sums, npm and others (docs/lists.md).",
            valueName: "format"))
    var from: ListFormat?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The folder of the files that a list names without URLs.", valueName: "url"))
    var base: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The package index at which files of requirements.txt and the like are found by their digests.",
            valueName: "url"))
    var index: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The registry of npm packages without a URL. Default: npm's public one.",
            valueName: "url"))
    var registry: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How deep into its folders a directory listing is followed. Default: \(ListHint.defaultDepth).",
            valueName: "folders"))
    var depth: Int?

    func validate() throws {
        if let depth, !(0...100).contains(depth) {
            throw ValidationError("--depth is a number from 0 to 100.")
        }
    }

    /// The hint from the options; throws `MirrorError` with `usage`.
    func hint(name: String? = nil) throws -> ListHint {
        try ListHint(
            format: from, base: try base.map { try ImportOptions.url($0, "base", "files/") },
            name: name, index: try index.map { try ImportOptions.url($0, "index", "simple/") },
            registry: try registry.map { try ImportOptions.url($0, "registry", "npm/") },
            depth: depth)
    }

    private static func url(_ text: String, _ option: String, _ example: String) throws -> SourceURL
    {
        do throws(URLFlaw) { return try SourceURL(text) } catch {
            throw MirrorError(
                .usage,
                "--\(option) \(error). Write an absolute URL such as https://origin.example/\(example)."
            )
        }
    }
}

extension DecodedManifest {
    /// Says which entries of the list are left out, and why.
    func showLeftOut(label: String) {
        for sentence in leftOut.sentences() {
            Console.error.line("mirror: note: \(label.printable): \(sentence).")
        }
    }

    /// Throws `ManifestRefusal` if entries of the list are left out.
    func refuseGaps(label: String) throws {
        guard !leftOut.isEmpty else { return }
        throw ManifestRefusal(leftOut: leftOut, of: label)
    }
}
