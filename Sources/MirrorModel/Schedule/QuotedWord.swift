/// Words of a command line, written so that a program reads them as they are.
package enum QuotedWord {
    /// A word of an `ExecStart=` line (systemd.service(5), "Command lines"; systemd.syntax(7)).
    ///
    /// Nil for a word with a line break or another control character, which has no place in a unit.
    ///
    /// - Parameter isProgram: whether it is the first word, in which no variable is replaced.
    package static func systemd(_ word: String, isProgram: Bool = false) -> String? {
        guard isPrintable(word) else { return nil }
        var quoted = ""
        for character in word.unicodeScalars {
            switch character {
            case "\\": quoted += "\\\\"
            case "\"": quoted += "\\\""
            // Specifiers and variables are replaced within quotes, too.
            case "%": quoted += "%%"
            case "$": quoted += isProgram ? "$" : "$$"
            default: quoted.unicodeScalars.append(character)
            }
        }
        return isPlain(word) ? quoted : "\"\(quoted)\""
    }

    /// A word of a crontab's command, which sh(1) reads after cron (crontab(5)).
    ///
    /// Nil for a word with a control character.
    package static func cron(_ word: String) -> String? {
        guard isPrintable(word) else { return nil }
        if isPlain(word) { return word }
        // cron ends the command at a percent sign that no backslash stands before, and takes the
        // backslash away; so the sign stands outside the quotes.
        let quoted = word.split(separator: "'", omittingEmptySubsequences: false)
            .map {
                $0.split(separator: "%", omittingEmptySubsequences: false).joined(
                    separator: "'\\%'")
            }
            .joined(separator: "'\\''")
        return "'\(quoted)'"
    }

    /// A word of a command that sh(1) reads.
    package static func shell(_ word: String) -> String {
        if isPlain(word) { return word }
        return "'" + word.parts(at: "'", keepingEmpty: true).joined(separator: "'\\''") + "'"
    }

    private static func isPrintable(_ word: String) -> Bool {
        word.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    }

    /// Whether no character of a word has a special meaning anywhere.
    private static func isPlain(_ word: String) -> Bool {
        !word.isEmpty
            && word.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "/._-:=,+@".utf8.contains(byte)
                }
            }
    }
}
