import Glibc

/// The priority that the journal gives a line, as a prefix of it (sd-daemon(3)).
enum JournalPriority {
    /// Whether a descriptor is connected to the journal (systemd.exec(5), `$JOURNAL_STREAM`).
    static func isJournal(_ descriptor: Int32, stream: String?) -> Bool {
        guard let numbers = stream?.split(separator: ":"), numbers.count == 2,
            let device = UInt64(numbers[0]), let inode = UInt64(numbers[1])
        else { return false }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }

    /// A text with a priority before each of its lines, by the word that it begins with.
    static func prefixed(_ text: String) -> String {
        let priority: String
        if ["mirror: error", "failed"].contains(where: text.hasPrefix) {
            priority = "<3>"
        } else if ["mirror: note", "mirror: warning", "optional", "note"]
            .contains(where: text.hasPrefix)
        {
            priority = "<4>"
        } else {
            priority = "<6>"
        }
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { priority + $0 }.joined(separator: "\n")
    }
}
