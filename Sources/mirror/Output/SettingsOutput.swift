import MirrorKit
import MirrorModel

/// An option, its value, and where that comes from.
struct SettingRow: Equatable {
    let name: String
    /// Nil for an option that nothing sets and that has no default.
    let value: String?
    /// `settings`, `default`, or the name of a variable.
    let origin: String

    /// Every option of every verb, in the order of their names.
    ///
    /// Throws like `EffectiveWords`.
    static func all(
        _ settings: DeviceSettings, environment: [(name: String, value: String)],
        catalog: OptionCatalog
    ) throws -> [SettingRow] {
        // What is wrong is refused here as by the verbs.
        _ = try EffectiveWords([], settings: settings, environment: environment, catalog: catalog)
        return catalog.options.map { option in
            let variable = EffectiveWords.variable(for: option.name)
            if let (_, text) = environment.first(where: { $0.name == variable }) {
                return SettingRow(name: option.name, value: text, origin: variable)
            }
            if let value = settings[option.name] {
                return SettingRow(name: option.name, value: value.text, origin: "settings")
            }
            let value = option.defaultValue ?? (option.isFlag ? "false" : nil)
            return SettingRow(name: option.name, value: value, origin: "default")
        }
    }

    /// The option of a name. Throws `MirrorError` with `usage`.
    static func option(named name: String) throws -> OptionCatalog.Option {
        let options = OptionCatalog().options
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

    /// The parser's message about the words that pass a value, for the first verb that has the option.
    ///
    /// The option may need another one, which is set already.
    static func refusal(
        of words: [String], _ option: OptionCatalog.Option, beside settings: DeviceSettings
    ) -> String? {
        guard let verb = OptionCatalog().verbs.first(where: { $0[option.name] != nil }) else {
            return nil
        }
        let refusal = { (others: [String], names: [String]) -> String? in
            // The verb may miss other words: then its message does not name the option.
            let message = SettingsLayer.refusal(of: verb.words + others + words) ?? ""
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

/// Shows settings: a JSON document for scripts, or a line an option for people.
struct SettingsOutput {
    let options: any OutputChoices
    let root: String

    /// Prints the settings to standard output; for people those that something sets, unless all are
    /// asked for.
    func show(_ rows: [SettingRow]) {
        guard !options.json else {
            var json = JSONWriter()
            json.object { json in
                json.member("v", 1)
                json.key("settings")
                json.array { json in
                    for row in rows {
                        json.object { json in
                            json.member("name", row.name)
                            json.member("value", row.value)
                            json.member("from", row.origin)
                        }
                    }
                }
            }
            json.newline()
            return Console.output.write(bytes: json.take())
        }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        var lines = LineBuffer()
        defer { lines.flush() }
        lines.line("root \(root.printable)")
        let shown = rows.filter { options.verbose || $0.origin != "default" }
        for row in shown {
            let value = row.value.map { " = \($0.printable)" } ?? ""
            lines.line("\(row.name)\(value)" + style.faint("  (\(row.origin))"))
        }
        if shown.isEmpty, !options.quiet {
            lines.line("Nothing is set; every option has its default (-v lists them).")
        }
    }
}
