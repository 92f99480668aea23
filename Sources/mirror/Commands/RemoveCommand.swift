import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror remove`: takes entries out of a manifest.
struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Take files out of a manifest.",
        discussion: """
            Removes the entries of targets; order, form and notes of the rest stay as they are. Files that \
            were fetched stay where they are until `mirror sync --prune`.

            EXAMPLES:
              mirror remove maps.json Documents/old.pmtiles
              mirror remove maps.json Caches/a Caches/b && mirror sync --prune maps.json
            """)

    @Argument(
        help: ArgumentHelp("The path of a manifest in JSON or XML.", valueName: "manifest"),
        completion: .file())
    var manifest: String

    @Argument(help: ArgumentHelp("A target of the manifest.", valueName: "target"))
    var targets: [Target]

    @OptionGroup(title: "Output") var output: ListOptions

    func run() async throws {
        try await ManifestFile(path: manifest).remove(targets)
        AdditionOutput(options: output, manifest: manifest).show(removed: targets)
        if Console.output.writeError != nil { throw ExitCode(74) }
    }
}
