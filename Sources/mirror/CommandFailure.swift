import ArgumentParser
import MirrorKit

/// An error that ends a command, as text for people and as a code for scripts.
struct CommandError {
    /// The error with the library's message.
    let error: MirrorError
    /// The lines to print.
    let text: String

    /// Takes a thrown error. A cancellation becomes the error of its cause.
    init(_ failure: any Error) {
        let wrapped = MirrorError(wrapping: failure)
        if wrapped.code == .cancelled {
            if Interruption.exitCode != nil {
                text = "Interrupted \(CommandStage.now.words). Run again to go on."
                error = MirrorError(.cancelled, text)
            } else {
                error = Interruption.deadlineError ?? wrapped
                text = "mirror: error: " + error.sentence.printable
            }
            return
        }
        switch failure {
        case let refusal as ManifestError:
            text = refusal.text(.ofErrors)
            error = wrapped
        case let failure as MirrorError:
            error = failure
            text = "mirror: error: " + failure.sentence.printable
        default:
            error = wrapped
            text = "mirror: error: " + error.sentence.printable
        }
    }

    /// The exit code of the signal that ended the command, or else of the error.
    var exitCode: Int32 {
        if error.code == .cancelled, let code = Interruption.exitCode { return code }
        return error.code.exitCode
    }
}

/// The message for a command line that cannot be carried out.
///
/// The message says where the mistake is, how to correct it, and where all options are listed.
struct UsageError {
    /// The parser's message, as a sentence.
    let message: String
    /// The message with usage and help; its last line says where to read more.
    let fullText: String
    /// The words after the program's name.
    let words: [String]

    /// The lines to print.
    var text: String {
        let help = helpLine.map { "\n" + $0 } ?? ""
        return "mirror: error: " + sentence.printableLines + help
    }

    /// The error for the command's events.
    var error: MirrorError { MirrorError(.usage, sentence) }

    /// The sentence that says what is wrong, and what would be right.
    private var sentence: String {
        let sentence = otherVerb ?? Self.correction(of: message) ?? verbSuggestion ?? message
        guard let last = sentence.last, !".?:".contains(last) else { return sentence }
        return sentence + "."
    }

    /// `See mirror sync --help.`, made from the last line of the parser's help.
    ///
    /// `nil` means that the parser's text has no such line.
    private var helpLine: String? {
        guard let line = fullText.split(separator: "\n").last,
            let (_, rest) = line.halves(around: "See '"),
            let (command, _) = rest.halves(around: "' for more")
        else { return nil }
        return "See \(command)."
    }

    /// The sentence for a misspelt verb, which the parser takes for a superfluous argument.
    ///
    /// `nil` means that the first word is a verb or an option.
    private var verbSuggestion: String? {
        guard let word = words.first, !word.hasPrefix("-") else { return nil }
        let verbs = MirrorCommand.configuration.subcommands.map {
            $0.configuration.commandName ?? ""
        }
        guard !verbs.contains(word), word != "help" else { return nil }
        let nearest = NearestName.suggestion(for: word, among: verbs)
        return "mirror has no verb \(Self.quoted(word[...]))"
            + (nearest.map { ". mirror \($0)?" } ?? ". It has \(verbs.joined(separator: ", ")).")
    }

    /// The name and the type of the verb; the name has two words for `schedule remove`.
    ///
    /// `nil` means that the command line has no verb.
    private var verb: (name: String, type: any ParsableCommand.Type)? {
        var (name, type): (String, any ParsableCommand.Type) = ("", MirrorCommand.self)
        for word in words.prefix(2) {
            let next = type.configuration.subcommands.first {
                $0.configuration.commandName == word
            }
            guard let next else { break }
            (name, type) = (name.isEmpty ? word : name + " " + word, next)
        }
        return name.isEmpty ? nil : (name, type)
    }

    /// The sentence for an option that `sync` has and this verb lacks.
    ///
    /// A suggestion of the nearest name would mislead. The parser may first have refused the value
    /// of this option, which it takes for an argument. `nil` means that there is no such option.
    private var otherVerb: String? {
        guard let verb else { return nil }
        let lacking = words.lazy.map { $0.prefix { $0 != "=" } }.first { word in
            word.hasPrefix("--") && UsageError.has(word, SyncCommand.self)
                && !UsageError.has(word, verb.type)
        }
        return lacking.map { "mirror \(verb.name) has no \($0); mirror sync has" }
    }

    private static func has(_ option: Substring, _ type: any ParsableCommand.Type) -> Bool {
        // A verb also has the options of its default verb.
        let types = [type] + [type.configuration.defaultSubcommand].compactMap(\.self)
        return types.contains { type in
            type.helpMessage().split(separator: "\n").contains {
                $0.split(separator: " ").prefix(2).contains(option)
            }
        }
    }

    /// Returns a sentence with the valid values, in place of the parser's message.
    ///
    /// The parser says only that a value is invalid. Returns nil for any other message.
    static func correction(of message: String) -> String? {
        guard let (before, after) = message.halves(around: "' is invalid for '"),
            let (_, value) = before.halves(around: "The value '"),
            let name = after.split(separator: "'").first
        else { return nil }
        let option = name.split(separator: " ").first.map(String.init) ?? ""
        let kind = name.split(separator: "<").last.map { String($0.dropLast()) } ?? ""
        if let right = allowed[kind] { return "\(option) \(quoted(value)): write \(right)." }
        guard let (_, choices) = after.halves(around: "Please provide one of ") else { return nil }
        let words = choices.filter { $0 != "'" }
        let (first, second) = words.halves(around: " and ") ?? (words[...], "")
        let right = second.isEmpty ? "\(first)" : "\(first) or \(second)"
        return "\(option) \(quoted(value)): write \(right)"
    }

    /// Quotes a word of the command line, without the secrets of a URL.
    private static func quoted(_ word: Substring) -> String {
        word.halves(around: "://") == nil
            ? Quoted(String(word)).description : Quoted(url: String(word)).description
    }

    /// What a valid value is, by the value's name in the help.
    static let allowed = [
        "n|auto": "a whole number of at least 1, or auto",
        "n": "a whole number",
        "n|p%": "a whole number, or a percentage such as 25%",
        "time": "a whole number and a unit, such as 90s, 15m, 6h, 1d or 2w",
        "size": "a number of bytes, or a number and a unit such as 64MiB or 2GB",
        "rate":
            "a number of bytes a second, a number and a unit such as 2MiB, or rates by local time such as '08:00-18:00 1MiB, otherwise 0'",
        "times": "local times of day, such as 01:00-06:00 or 22:00-06:00,12:00-13:00",
        "budget": "an amount and its period, such as 10GiB/month, 2GiB/week or 500MiB/day",
        "target": "a path beneath Documents, Caches or tmp, such as Caches/feed.json",
    ]
}

extension String {
    /// The text without control characters; line breaks remain.
    fileprivate var printableLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }
            .joined(separator: "\n")
    }
}

extension StringProtocol {
    /// Returns the text before and after a separator.
    ///
    /// Returns nil if the text does not have the separator.
    fileprivate func halves(around text: String) -> (SubSequence, SubSequence)? {
        let bytes = utf8
        var at = bytes.startIndex
        while at < bytes.endIndex {
            if bytes[at...].starts(with: text.utf8) {
                return (self[..<at], self[bytes.index(at, offsetBy: text.utf8.count)...])
            }
            bytes.formIndex(after: &at)
        }
        return nil
    }
}
