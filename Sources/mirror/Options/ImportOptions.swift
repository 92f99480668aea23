import ArgumentParser
import MirrorKit
import MirrorModel

/// How lists of other programs are read.
struct ImportOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Read a list as this format, whatever it looks like: urls, sums, npm and others (docs/import.md).",
            valueName: "format"))
    var from: ListFormat?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The folder of the files that a list names without URLs.", valueName: "url"))
    var base: String?

    /// The hint from the options; throws `MirrorError` with `usage`.
    func hint(name: String? = nil) throws -> ListHint {
        if from == nil, base == nil, name == nil { return ListHint() }
        return try ListHint(format: from, base: try base.map(ImportOptions.url), name: name)
    }

    private static func url(_ text: String) throws -> SourceURL {
        do throws(URLFlaw) { return try SourceURL(text) } catch {
            throw MirrorError(
                .usage,
                "--base \(error). Write an absolute URL such as https://origin.example/files/."
            )
        }
    }
}
