import ArgumentParser
import Glibc
import MirrorKit

/// The command line, with the options that the environment and the root's settings add.
///
/// The command line takes precedence over the environment (`MIRROR_<OPTION>`), and the environment
/// over `.mirror/settings.json`. An option that this verb lacks is no error, because other verbs
/// have it.
struct EffectiveWords {
    /// An option that the environment or a setting adds, and its words.
    struct Addition: Equatable {
        let name: String
        let words: [String]
        /// The setting from which the option comes. `nil` means that it comes from the environment.
        let setting: DeviceSettings.Setting?
    }

    /// Options that reach outside the root.
    ///
    /// They run programs, write or read files outside the root, pass credentials on, or show the
    /// tree to others.
    private static let reachingOutside: Set<String> = [
        "cacert", "cert", "env", "key", "listen", "log", "metrics", "netrc", "netrc-file",
        "on-change", "on-failure", "rewrite", "s3-endpoint",
        "store", "store-push",
    ]

    /// The most values of a list, because the parser compares all of them with each other.
    private static let mostTexts = 256

    /// Throws if a setting reaches outside the root, and another user can have written it.
    static func refuse(
        _ setting: DeviceSettings.Setting, ofOthers settings: DeviceSettings
    ) throws(ManifestError) {
        if settings.isOwn || !reachingOutside.contains(setting.name) { return }
        throw settings.refusal(
            of: setting,
            "\(setting.name) reaches outside the root, and another user can have written these settings. Read them, then make the file yours (chown, chmod o-w)."
        )
    }

    let additions: [Addition]
    /// The words that the parser gets.
    let words: [String]

    /// Adds the options that a command line does not set itself.
    ///
    /// Throws `ManifestError` for a setting that no verb has, or of the wrong kind. Throws
    /// `MirrorError` with `usage` for a variable of the wrong kind.
    init(
        _ words: [String], settings: DeviceSettings, environment: [(name: String, value: String)],
        catalog: OptionCatalog
    ) throws {
        let verb = catalog.verb(of: words)
        let all = catalog.options
        var stored: [Addition] = []
        for setting in settings.settings {
            guard let option = all.first(where: { $0.name == setting.name }) else {
                let nearest = NearestName.suggestion(for: setting.name, among: all.map(\.name))
                throw settings.refusal(
                    of: setting,
                    "\(Quoted(setting.name)): there is no such option. "
                        + (nearest.map { "Write \($0)?" } ?? "mirror settings lists them."))
            }
            try EffectiveWords.refuse(setting, ofOthers: settings)
            guard let added = EffectiveWords.words(for: setting.value, option) else {
                throw settings.refusal(of: setting, EffectiveWords.kind(of: option))
            }
            stored.append(Addition(name: option.name, words: added, setting: setting))
        }
        // The additions are in the order of their precedence. So the first of two options that
        // exclude each other stays.
        var additions: [Addition] = []
        for (name, text) in environment {
            guard let option = all.first(where: { EffectiveWords.variable(for: $0.name) == name })
            else { continue }
            guard let value = EffectiveWords.value(of: text, option),
                let added = EffectiveWords.words(for: value, option)
            else {
                throw MirrorError(.usage, "\(name): \(EffectiveWords.kind(of: option))")
            }
            stored.removeAll { $0.name == option.name }
            additions.append(Addition(name: option.name, words: added, setting: nil))
        }
        additions += stored
        let said = EffectiveWords.options(in: words, of: verb)
        self.additions = additions.filter { addition in
            verb?[addition.name] != nil && !said.contains(addition.name)
        }
        let count = verb?.words.count ?? 0
        self.words = words.prefix(count) + self.additions.flatMap(\.words) + words.dropFirst(count)
    }

    /// The variable that sets an option, such as `MIRROR_MIN_FREE`.
    static func variable(for name: String) -> String {
        "MIRROR_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }

    /// Returns the words that pass a value. Returns nil if the option is of another kind.
    static func words(for value: DeviceSettings.Value, _ option: OptionCatalog.Option) -> [String]?
    {
        switch value {
        case .flag(let flag): option.isFlag ? (flag ? ["--" + option.name] : []) : nil
        case .texts(let texts):
            option.isFlag || (texts.count != 1 && !option.isRepeating)
                || texts.count > mostTexts ? nil : texts.flatMap { ["--" + option.name, $0] }
        }
    }

    /// Returns the value of a text in a variable or on the command line.
    ///
    /// Returns nil if the option cannot have this value.
    static func value(of text: String, _ option: OptionCatalog.Option) -> DeviceSettings.Value? {
        if option.isFlag {
            switch text.lowercased() {
            case "1", "true", "yes", "on": return .flag(true)
            case "", "0", "false", "no", "off": return .flag(false)
            default: return nil
            }
        }
        if option.isRepeating {
            return .texts(text.split(separator: ",").map { String($0) })
        }
        return text.isEmpty ? nil : .texts([text])
    }

    /// Returns a sentence that says what kind of value an option takes.
    static func kind(of option: OptionCatalog.Option) -> String {
        if option.isFlag { return "\(option.name) is a flag: write true or false" }
        return option.isRepeating
            ? "\(option.name) takes a list of at most \(mostTexts) texts"
            : "\(option.name) takes one value"
    }

    /// Returns the long names of the options that a command line has.
    private static func options(in words: [String], of verb: OptionCatalog.Verb?) -> Set<String> {
        var names = Set<String>()
        for word in words.prefix(while: { $0 != "--" }) where word.first == "-" {
            if word.hasPrefix("--") {
                names.insert(String(word.dropFirst(2).prefix { $0 != "=" }))
            } else {
                // Several short flags may stand together in one word.
                for option in verb?.options ?? [] {
                    if let short = option.short, word.dropFirst().contains(short) {
                        names.insert(option.name)
                    }
                }
            }
        }
        return names
    }
}

// MARK: The words to parse

extension EffectiveWords {
    /// Returns the words to parse, which equal `words` if nothing is added to them.
    ///
    /// Throws `ManifestError`, or `MirrorError`, for a setting or a variable that is wrong.
    static func effective(_ words: [String]) throws -> [String] {
        guard let verb = words.first, !verb.hasPrefix("-"), verb != "settings", verb != "help"
        else { return words }
        // A verb that needs no root works without one. The other verbs report the missing root.
        let settings = try settings(for: words)
        let environment = variables
        if settings.settings.isEmpty, environment.isEmpty { return words }
        let catalog = OptionCatalog()
        let layered = try EffectiveWords(
            words, settings: settings, environment: environment, catalog: catalog)
        return try reconciled(layered, words, settings, catalog)
    }

    private static func settings(for words: [String]) throws -> DeviceSettings {
        do {
            return try DeviceSettings(ofRoot: root(in: words))
        } catch let error as MirrorError where error.code == .rootUnusable {
            return DeviceSettings()
        }
    }

    /// Returns the root that a command line names. Returns nil if it names none.
    static func root(in words: [String]) -> String? {
        var root: String?
        for (position, word) in words.enumerated() {
            if word == "--" { break }
            // The parser also uses the last `--root` of several.
            if word == "--root", position + 1 < words.count { root = words[position + 1] }
            if word.hasPrefix("--root=") { root = String(word.dropFirst(7)) }
        }
        return root
    }

    /// The variables of this process that may set an option, without `MIRROR_ROOT`.
    static var variables: [(name: String, value: String)] {
        var found: [(name: String, value: String)] = []
        var at = environ
        while let pointer = at.pointee {
            let text = String(cString: pointer)
            if text.hasPrefix("MIRROR_"), !text.hasPrefix("MIRROR_ROOT="),
                let equals = text.firstIndex(of: "=")
            {
                found.append(
                    (String(text[..<equals]), String(text[text.index(after: equals)...])))
            }
            at += 1
        }
        return found.sorted { $0.name < $1.name }
    }

    /// Returns the words without the additions that other options exclude.
    ///
    /// The command line, and an addition of higher precedence, can exclude an addition. Throws if
    /// the parser does not accept an addition's value; the error names its origin.
    private static func reconciled(
        _ layered: EffectiveWords, _ words: [String], _ settings: DeviceSettings,
        _ catalog: OptionCatalog
    ) throws -> [String] {
        if refusal(of: layered.words) == nil || refusal(of: words) != nil { return layered.words }
        let count = catalog.verb(of: words)?.words.count ?? 0
        var accepted: [String] = []
        var open = layered.additions
        // An option may need another one that comes later.
        while let taken = open.firstIndex(where: { addition in
            refusal(of: words.prefix(count) + accepted + addition.words + words.dropFirst(count))
                == nil
        }) {
            accepted += open.remove(at: taken).words
        }
        for addition in open {
            guard let sentence = flaw(in: addition, of: layered, words.prefix(count)) else {
                continue
            }
            if let setting = addition.setting { throw settings.refusal(of: setting, sentence) }
            throw MirrorError(.usage, "\(variable(for: addition.name)): \(sentence)")
        }
        return words.prefix(count) + accepted + words.dropFirst(count)
    }

    /// Returns what is wrong with an addition itself.
    ///
    /// Returns nil if only the command line, or another addition, excludes it.
    private static func flaw(
        in addition: Addition, of layered: EffectiveWords,
        _ verb: ArraySlice<String>
    ) -> String? {
        let alone = refusal(of: verb + addition.words)
        guard let alone, alone.contains("--\(addition.name)") else { return nil }
        let helps = layered.additions.contains { other in
            guard other != addition else { return false }
            // If the other addition is wrong itself, the message says nothing about this one.
            let message = refusal(of: verb + other.words + addition.words) ?? ""
            return ![addition, other].contains { message.contains("--\($0.name)") }
        }
        return helps ? nil : UsageError.correction(of: alone) ?? alone
    }

    /// Returns the parser's message about a command line. Returns nil if the parser accepts it.
    static func refusal(of words: some Sequence<String>) -> String? {
        do {
            _ = try MirrorCommand.parseAsRoot(Array(words))
            return nil
        } catch {
            return MirrorCommand.exitCode(for: error) == .success
                ? nil : MirrorCommand.message(for: error)
        }
    }
}

/// The options of all verbs, as the argument parser describes them.
struct OptionCatalog {
    /// An option of a verb.
    struct Option: Hashable {
        /// The long name, without dashes.
        let name: String
        /// The short name, without its dash. `nil` means that there is none.
        let short: String?
        let isFlag: Bool
        let isRepeating: Bool
        /// The default, as the parser prints it. `nil` means that there is none.
        let defaultValue: String?
        /// What the help calls the value, such as `file`. `nil` for a flag.
        let valueName: String?
    }

    /// A verb and its options.
    struct Verb {
        /// The words that name the verb, such as `settings`, `set`.
        let words: [String]
        let options: [Option]

        /// The verb's option of this name. `nil` means that the verb has no such option.
        subscript(name: String) -> Option? { options.first { $0.name == name } }
    }

    /// Every verb. A verb comes before the verbs below it.
    let verbs: [Verb]

    /// The options that no setting can set.
    ///
    /// `root` decides which settings count. The others do not say how to work, or are about one
    /// manifest.
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

    /// Returns the verb at the beginning of a command line: the longest that its words name.
    ///
    /// Returns nil if the command line begins with no verb.
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
    /// Makes an option from its description. Returns nil for a positional argument.
    fileprivate init?(_ tree: JSONTree) {
        let names = tree["names"]?.elements ?? []
        let name = { (kind: String) in
            names.first { $0["kind"]?.string == kind }?["name"]?.string
        }
        guard let long = name("long") else { return nil }
        self.init(
            name: long, short: name("short"), isFlag: tree["kind"]?.string == "flag",
            isRepeating: tree["isRepeating"]?.bool ?? false,
            defaultValue: tree["defaultValue"]?.string, valueName: tree["valueName"]?.string)
    }

    /// Returns a value with absolute paths of files, for commands that run in another folder.
    func absolute(_ value: DeviceSettings.Value) -> DeviceSettings.Value {
        guard case .texts(let texts) = value else { return value }
        switch valueName {
        case "file": return .texts(texts.map(Self.absolute))
        case "place":
            return .texts(texts.map { $0.contains("://") ? $0 : Self.absolute($0) })
        case "origin=file":
            return .texts(
                texts.map { text in
                    guard let sign = text.firstIndex(of: "=") else { return text }
                    let path = text[text.index(after: sign)...]
                    return text[...sign] + Self.absolute(String(path))
                })
        default: return value
        }
    }

    private static func absolute(_ path: String) -> String {
        guard !path.isEmpty, !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }
}
