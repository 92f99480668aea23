/// The name that a file with untracked or edited bytes gets when a new version needs its place.
package enum ConflictName {
    /// Makes `<stem>.mirror-conflict-<time>[-n].<ext>` beside the target.
    ///
    /// `attempt` counts from 1; the name contains it only from 2 on. The stem is cut at a
    /// character's boundary so that the name has at most 255 bytes. Nil where the folder's path
    /// leaves no room for any such name.
    package static func make(for target: Target, at instant: Instant, attempt: Int = 1) -> Target? {
        let (stem, suffix) = split(target.name)
        let mark =
            ".mirror-conflict-" + instant.basicFormat + (attempt > 1 ? "-\(attempt)" : "") + suffix
        let room = min(255, Target.longestPath - target.folder.utf8.count - 1) - mark.utf8.count
        guard room >= 0 else { return nil }
        return try? target.sibling(named: stem.prefix(bytes: room) + mark)
    }

    /// Splits a name before its last dot; the suffix begins with the dot.
    ///
    /// A name whose only dot comes first has no extension. Text of more than 32 bytes after the dot
    /// is no extension either.
    private static func split(_ name: String) -> (stem: String, suffix: String) {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex,
            name.utf8.distance(from: dot, to: name.endIndex) <= 33
        else { return (name, "") }
        return (String(name[..<dot]), String(name[dot...]))
    }
}
