import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror settings`: the options that a device sets once.
struct SettingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Show, set and remove the options that count for every command over this root.",
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

/// `mirror settings`, without a further word: lists values and where they come from.
struct SettingsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the settings, and where each comes from.")

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: DetailOptions

    func run() async throws {
        let session = try MirrorSession(root: root.root)
        try session.requireRoot()
        let settings = try DeviceSettings(ofRoot: root.root)
        let rows = try SettingRow.all(
            settings, environment: SettingsLayer.variables, catalog: OptionCatalog())
        SettingsOutput(options: output, root: session.root).show(rows)
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
        completion: Suggestions.settings)
    var key: String

    @Argument(help: ArgumentHelp("Its value; true or false for a flag.", valueName: "value"))
    var value: String

    @OptionGroup var root: RootOptions

    func run() async throws {
        try MirrorSession(root: root.root).requireRoot()
        let option = try SettingRow.option(named: key)
        guard let parsed = EffectiveWords.value(of: value, option),
            let words = EffectiveWords.words(for: parsed, option)
        else { throw MirrorError(.usage, EffectiveWords.kind(of: option)) }
        try DeviceSettings.changing(root) { settings in
            if let message = SettingRow.refusal(of: words, option, beside: settings) {
                throw MirrorError(.usage, UsageRefusal.correction(of: message) ?? message)
            }
            try settings.change(option.name, to: parsed)
        }
        Console.output.line("\(option.name) = \(parsed.text.printable)")
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
        completion: Suggestions.settings)
    var key: String

    @OptionGroup var root: RootOptions

    func run() async throws {
        try DeviceSettings.changing(root) { settings in
            // A name that no verb has any more can still be removed.
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
    /// Reads a root's settings and has them changed, while no other process changes them.
    fileprivate static func changing(
        _ options: RootOptions, _ change: (inout DeviceSettings) throws -> Void
    ) throws {
        let session = try MirrorSession(root: options.root)
        try session.requireRoot()
        try ReplacedFile.changing(in: session.root + "/.mirror") {
            var settings = try DeviceSettings(ofRoot: options.root)
            try change(&settings)
        }
    }

    /// Sets an option, or removes it. The file becomes this user's, so nothing of another user's that
    /// reaches outside the root may stay in it.
    fileprivate mutating func change(_ name: String, to value: Value?) throws {
        for setting in settings where setting.name != name {
            try EffectiveWords.refuse(setting, ofOthers: self)
        }
        try set(name, to: value)
    }
}
