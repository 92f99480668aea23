import ArgumentParser
import Glibc
import MirrorKit
import MirrorModel

/// Puts the root's settings and the environment beneath the command line.
enum SettingsLayer {
    /// The words to parse; the same as `words` if nothing adds to them.
    ///
    /// Throws `ManifestRefusal`, or `MirrorError`, for a setting or a variable that is wrong.
    static func effective(_ words: [String]) throws -> [String] {
        guard let verb = words.first, !verb.hasPrefix("-"), verb != "settings", verb != "help"
        else { return words }
        // A verb that needs no root works without one; the others say themselves what is wrong.
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

    /// The root that a command line names; nil where it names none.
    static func root(in words: [String]) -> String? {
        var root: String?
        for (position, word) in words.enumerated() {
            if word == "--" { break }
            // The parser takes the last one, too.
            if word == "--root", position + 1 < words.count { root = words[position + 1] }
            if word.hasPrefix("--root=") { root = String(word.dropFirst(7)) }
        }
        return root
    }

    /// The variables of this process that may set an option. `MIRROR_ROOT` is none of them.
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

    /// The words without additions that the command line excludes, or one that stands above them.
    ///
    /// Throws for an addition whose value the parser does not take, and says where it comes from.
    private static func reconciled(
        _ layered: EffectiveWords, _ words: [String], _ settings: DeviceSettings,
        _ catalog: OptionCatalog
    ) throws -> [String] {
        if refusal(of: layered.words) == nil || refusal(of: words) != nil { return layered.words }
        let count = catalog.verb(of: words)?.words.count ?? 0
        var accepted: [String] = []
        var open = layered.additions
        // One option may need another that stands behind it.
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
            switch addition.origin {
            case .environment(let name): throw MirrorError(.usage, "\(name): \(sentence)")
            case .settings(let setting): throw settings.refusal(of: setting, sentence)
            }
        }
        return words.prefix(count) + accepted + words.dropFirst(count)
    }

    /// What is wrong with an addition itself; nil where only the command line, or another addition,
    /// excludes it.
    private static func flaw(
        in addition: EffectiveWords.Addition, of layered: EffectiveWords,
        _ verb: ArraySlice<String>
    ) -> String? {
        let alone = refusal(of: verb + addition.words)
        guard let alone, alone.contains("--\(addition.name)") else { return nil }
        let helps = layered.additions.contains { other in
            guard other != addition else { return false }
            // Where the other one is wrong itself, nothing is known about this one.
            let message = refusal(of: verb + other.words + addition.words) ?? ""
            return ![addition, other].contains { message.contains("--\($0.name)") }
        }
        return helps ? nil : UsageRefusal.correction(of: alone) ?? alone
    }

    /// The parser's message about a command line; nil when it takes it.
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
