/// The name that a file with untracked or edited bytes gets when a new version needs its place.
package enum ConflictName {
    /// Makes `<stem>.mirror-conflict-<time>[-n].<ext>` beside the target.
    ///
    /// `attempt` counts from 1; the name contains it only from 2 on. The stem is cut at a
    /// character's boundary so that the name has at most 255 bytes. Nil where the folder's path
    /// leaves no room for any such name.
    package static func make(for target: Target, at instant: Instant, attempt: Int = 1) -> Target? {
        let stamp = instant.basicFormat + (attempt > 1 ? "-\(attempt)" : "")
        return name(for: target, stamp: stamp).flatMap { try? target.sibling(named: $0) }
    }

    /// The name beside a target, for a time with its number.
    static func name(for target: Target, stamp: String) -> String? {
        let (stem, suffix) = split(target.name)
        let rest = mark + stamp + suffix
        let room = min(255, Target.longestPath - target.folder.utf8.count - 1) - rest.utf8.count
        return room < 0 ? nil : stem.prefix(bytes: room) + rest
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
