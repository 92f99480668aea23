import MirrorKit
import MirrorModel

/// The command line with what the environment and the root's settings add to it.
///
/// The command line stands above the environment (`MIRROR_<OPTION>`), and that above
/// `.mirror/settings.json`. An option of another verb is no error: it counts where it applies.
struct EffectiveWords {
    /// Where a value comes from.
    enum Origin: Equatable {
        case environment(String)
        case settings(DeviceSettings.Setting)
    }

    /// An option that was added, its words and where they come from.
    struct Addition: Equatable {
        let name: String
        let words: [String]
        let origin: Origin
    }

    /// Options that run programs, write or read files outside the root, pass credentials on, or show the
    /// tree to others.
    private static let reachingOutside: Set<String> = [
        "cacert", "env", "listen", "log", "metrics", "netrc", "netrc-file", "on-change",
        "on-failure",
    ]

    /// How many values a list has: the parser of command lines compares them all with each other.
    private static let mostTexts = 256

    /// Refuses a setting that reaches outside the root where another user can have written it.
    static func refuse(
        _ setting: DeviceSettings.Setting, ofOthers settings: DeviceSettings
    ) throws(ManifestRefusal) {
        if settings.isOwn || !reachingOutside.contains(setting.name) { return }
        throw settings.refusal(
            of: setting,
            "\(setting.name) reaches outside the root, and another user can have written these settings. Read them, then make the file yours (chown, chmod o-w)."
        )
    }

    let additions: [Addition]
    /// The words to parse.
    let words: [String]

    /// Adds the options that a command line does not set itself.
    ///
    /// Throws `ManifestRefusal` for a setting that no verb has, or of the wrong kind, and
    /// `MirrorError` with `usage` for such a variable.
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
            stored.append(Addition(name: option.name, words: added, origin: .settings(setting)))
        }
        // In the order of their weight: what excludes another stays.
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
            additions.append(
                Addition(name: option.name, words: added, origin: .environment(name)))
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

    /// The words that pass a value; nil where the option is of another kind.
    static func words(for value: DeviceSettings.Value, _ option: OptionCatalog.Option) -> [String]?
    {
        switch value {
        case .flag(let flag): option.isFlag ? (flag ? ["--" + option.name] : []) : nil
        case .texts(let texts):
            option.isFlag || (texts.count != 1 && !option.isRepeating)
                || texts.count > mostTexts ? nil : texts.flatMap { ["--" + option.name, $0] }
        }
    }

    /// The value that a variable, or a word on the command line, stands for.
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

    /// What to write for an option.
    static func kind(of option: OptionCatalog.Option) -> String {
        if option.isFlag { return "\(option.name) is a flag: write true or false" }
        return option.isRepeating
            ? "\(option.name) takes a list of at most \(mostTexts) texts"
            : "\(option.name) takes one value"
    }

    /// The long names of the options that a command line has.
    private static func options(in words: [String], of verb: OptionCatalog.Verb?) -> Set<String> {
        var names = Set<String>()
        for word in words.prefix(while: { $0 != "--" }) where word.first == "-" {
            if word.hasPrefix("--") {
                names.insert(String(word.dropFirst(2).prefix { $0 != "=" }))
            } else {
                // Short flags may stand together.
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
