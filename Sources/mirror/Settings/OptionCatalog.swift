import ArgumentParser
import MirrorKit
import MirrorModel

/// The options of all verbs, as the argument parser describes them.
struct OptionCatalog {
    /// An option of a verb.
    struct Option: Hashable {
        /// The long name, without dashes.
        let name: String
        /// The short name, without its dash; nil where there is none.
        let short: String?
        let isFlag: Bool
        let isRepeating: Bool
        /// The default, as the parser prints it; nil where there is none.
        let defaultValue: String?
    }

    /// A verb and its options.
    struct Verb {
        /// The words that name it, such as `settings`, `set`.
        let words: [String]
        let options: [Option]

        /// The option of a name.
        subscript(name: String) -> Option? { options.first { $0.name == name } }
    }

    /// Every verb, those beneath others after them.
    let verbs: [Verb]

    /// The options that no setting can set: the root, which decides what settings count, and
    /// options that do not say how to work or are about one manifest.
    private static let excluded: Set<String> = [
        "root", "help", "version", "from", "base", "name", "output", "as",
    ]

    /// Reads the parser's description of the command.
    init() {
        let text = Array(MirrorCommand._dumpHelp().utf8)
        let tree = (try? JSONTree(text, file: "help"))?["command"]
        verbs = (tree?["subcommands"]?.elements ?? []).flatMap { OptionCatalog.verbs($0, []) }
    }

    private static func verbs(_ tree: JSONTree, _ above: [String]) -> [Verb] {
        let words = above + [tree["commandName"]?.string ?? ""]
        let options = (tree["arguments"]?.elements ?? []).compactMap(Option.init)
            .filter { !excluded.contains($0.name) }
        let beneath = (tree["subcommands"]?.elements ?? []).flatMap { verbs($0, words) }
        return [Verb(words: words, options: options)] + beneath
    }

    /// The verb that a command line begins with: the longest that its words name.
    func verb(of words: [String]) -> Verb? {
        verbs.filter { words.starts(with: $0.words) }.max { $0.words.count < $1.words.count }
    }

    /// The options of all verbs, each once, in the order of their names.
    var options: [Option] {
        var known: [String: Option] = [:]
        for option in verbs.flatMap(\.options) where known[option.name] == nil {
            known[option.name] = option
        }
        return known.values.sorted { $0.name < $1.name }
    }
}

extension OptionCatalog.Option {
    /// An option from its description; nil for a positional argument.
    fileprivate init?(_ tree: JSONTree) {
        let names = tree["names"]?.elements ?? []
        let name = { (kind: String) in
            names.first { $0["kind"]?.string == kind }?["name"]?.string
        }
        guard let long = name("long") else { return nil }
        self.init(
            name: long, short: name("short"), isFlag: tree["kind"]?.string == "flag",
            isRepeating: tree["isRepeating"]?.bool ?? false,
            defaultValue: tree["defaultValue"]?.string)
    }
}
