import ArgumentParser
import MirrorKit

/// `mirror settings`: shows and changes the options that apply to every command over a root.
struct SettingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Set options for this root.",
        discussion: """
            A root's settings are long option names and values in .mirror/settings.json. They apply \
            to every verb that has the option. MIRROR_<OPTION> in the environment stands above them, \
            and the command line above both. A manifest sets none of them.

            EXAMPLES:
              mirror settings                    what is set, and where
              mirror settings --verbose          every option, its default too
              mirror settings set limit-rate 2MiB
              mirror settings unset limit-rate
            """,
        subcommands: [
            SettingsListCommand.self, SettingsSetCommand.self, SettingsUnsetCommand.self,
        ],
        defaultSubcommand: SettingsListCommand.self)
}

/// `mirror settings`, without a further verb: lists values and where they come from.
struct SettingsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the settings, and where each comes from.")

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: DetailOptions

    func run() async throws {
        let session = try root.session()
        let settings = try DeviceSettings(ofRoot: root.root)
        show(try rows(of: settings), root: session.root)
    }

    /// Returns every option of every verb, by name, with its value and the origin of the value.
    ///
    /// The origin is `settings`, `default`, or the name of a variable.
    private func rows(
        of settings: DeviceSettings
    ) throws -> [(name: String, value: String?, origin: String)] {
        let (environment, catalog) = (EffectiveWords.variables, OptionCatalog())
        // A wrong setting or variable is an error here, as it is for the other verbs.
        _ = try EffectiveWords([], settings: settings, environment: environment, catalog: catalog)
        return catalog.options.map { option in
            let variable = EffectiveWords.variable(for: option.name)
            if let (_, text) = environment.first(where: { $0.name == variable }) {
                return (option.name, text, variable)
            }
            if let value = settings[option.name] { return (option.name, value.text, "settings") }
            let value = option.defaultValue ?? (option.isFlag ? "false" : nil)
            return (option.name, value, "default")
        }
    }

    /// Prints the settings.
    ///
    /// Scripts get a JSON document with all options. People get a line for each option that is set,
    /// or for every option with `--verbose`.
    private func show(_ rows: [(name: String, value: String?, origin: String)], root: String) {
        guard !output.json else {
            return Console.output.document { json in
                json.objects("settings", rows) { row, json in
                    json.member("name", row.name)
                    json.member("value", row.value)
                    json.member("from", row.origin)
                }
            }
        }
        let style = TextStyle(isColored: output.usesColor(on: .output))
        var lines = LineBuffer()
        defer { lines.flush() }
        lines.line("root \(root.printable)")
        let shown = rows.filter { output.verbose || $0.origin != "default" }
        for row in shown {
            let value = row.value.map { " = \($0.printable)" } ?? ""
            lines.line("\(row.name)\(value)" + style.faint("  (\(row.origin))"))
        }
        if shown.isEmpty, !output.quiet {
            lines.line("Nothing is set; every option has its default (-v lists them).")
        }
    }
}

/// `mirror settings set KEY VALUE`.
struct SettingsSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Set an option for every command over this root.",
        discussion: """
            EXAMPLES:
              mirror settings set limit-rate 2MiB
              mirror settings set netrc true
              mirror settings set only maps,base
            """)

    @Argument(
        help: ArgumentHelp("The option's long name, without dashes.", valueName: "key"),
        completion: .settings)
    var key: String

    @Argument(help: ArgumentHelp("Its value; true or false for a flag.", valueName: "value"))
    var value: String

    @OptionGroup var root: RootOptions

    func run() async throws {
        _ = try root.session()
        let option = try SettingsSetCommand.option(named: key)
        guard let parsed = EffectiveWords.value(of: value, option).map(option.absolute),
            let words = EffectiveWords.words(for: parsed, option)
        else { throw MirrorError(.usage, EffectiveWords.kind(of: option)) }
        try DeviceSettings.changing(root) { settings in
            if let message = SettingsSetCommand.refusal(of: words, option, beside: settings) {
                throw MirrorError(.usage, UsageError.correction(of: message) ?? message)
            }
            try settings.change(option.name, to: parsed)
        }
        Console.output.line("\(option.name) = \(parsed.text.printable)")
    }

    /// Returns the option with this name. Throws `MirrorError` with `usage` if there is none.
    private static func option(named name: String) throws -> OptionCatalog.Option {
        let options = OptionCatalog().options
        if ["shard", "shards"].contains(name) {
            throw MirrorError(
                .usage,
                "\(name) cannot be set for a root, because each process has its own shard. Give --\(name) to each."
            )
        }
        if let option = options.first(where: { $0.name == name }) { return option }
        if name == "root" {
            throw MirrorError(
                .usage,
                "root cannot be set, because it says whose settings count. MIRROR_ROOT names it.")
        }
        let nearest = NearestName.suggestion(for: name, among: options.map(\.name))
        throw MirrorError(
            .usage,
            "\(Quoted(name)): there is no such option. "
                + (nearest.map { "Did you mean \($0)?" } ?? "mirror settings -v lists them."))
    }

    /// Returns the parser's message about the words that set an option.
    ///
    /// The words are tested with the first verb that has the option. The option may need another
    /// one, which is set already. Returns nil if the parser accepts the words.
    private static func refusal(
        of words: [String], _ option: OptionCatalog.Option, beside settings: DeviceSettings
    ) -> String? {
        guard let verb = OptionCatalog().verbs.first(where: { $0[option.name] != nil }) else {
            return nil
        }
        let refusal = { (others: [String], names: [String]) -> String? in
            // The verb may lack other words. Then the message does not name the option, and is
            // ignored.
            let message = EffectiveWords.refusal(of: verb.words + others + words) ?? ""
            return names.contains { message.contains("--" + $0) } ? message : nil
        }
        guard let alone = refusal([], [option.name]) else { return nil }
        let helps = settings.settings.contains { setting in
            guard setting.name != option.name, let other = verb[setting.name],
                let others = EffectiveWords.words(for: setting.value, other)
            else { return false }
            return refusal(others, [option.name, setting.name]) == nil
        }
        return helps ? nil : alone
    }
}

/// `mirror settings unset KEY`.
struct SettingsUnsetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unset", abstract: "Remove an option from this root's settings.",
        discussion: """
            EXAMPLES:
              mirror settings unset limit-rate
            """)

    @Argument(
        help: ArgumentHelp("The option's long name, without dashes.", valueName: "key"),
        completion: .settings)
    var key: String

    @OptionGroup var root: RootOptions

    func run() async throws {
        try DeviceSettings.changing(root) { settings in
            // The name of an option that no longer exists can still be removed.
            guard settings[key] != nil else {
                let names = settings.settings.map(\.name)
                let nearest = NearestName.suggestion(for: key, among: names)
                throw MirrorError(
                    .usage,
                    "\(Quoted(key)) is not set."
                        + (nearest.map { " Did you mean \($0)?" } ?? ""))
            }
            try settings.change(key, to: nil)
        }
        Console.output.line("\(key.printable) is no longer set.")
    }
}

extension DeviceSettings {
    /// Reads a root's settings and changes them. No other process can change them in this time.
    fileprivate static func changing(
        _ options: RootOptions, _ change: (inout DeviceSettings) throws -> Void
    ) throws {
        let session = try options.session()
        try ReplacedFile.changing(in: session.root + "/.mirror") {
            var settings = try DeviceSettings(ofRoot: options.root)
            try change(&settings)
        }
    }

    /// Sets an option, or removes it if `value` is nil.
    ///
    /// Throws if another user's setting that reaches outside the root would stay. The file then
    /// belongs to this user, so the setting would be trusted.
    fileprivate mutating func change(_ name: String, to value: Value?) throws {
        for setting in settings where setting.name != name {
            try EffectiveWords.refuse(setting, ofOthers: self)
        }
        try set(name, to: value)
    }
}
