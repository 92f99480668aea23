/// A file that mirror renamed to make room for a new version of a target.
package struct ConflictCopy: Sendable, Hashable {
    /// The target at which the file was.
    package var target: Target
    /// The path that the file has now.
    package var copy: Target
    /// The file's size in bytes.
    var size: Int64
}

/// The name of a conflict copy: `<stem>.mirror-conflict-<time>[-n].<ext>` beside its target.
extension ConflictCopy {
    /// The mark in every conflict name.
    static let mark = ".mirror-conflict-"

    /// Whether a name can be that of a conflict copy, at a cheap first look.
    static func mayBe(_ name: String) -> Bool { name.utf8.count > 33 && find(name) != nil }

    /// Returns the target that the name of a conflict copy belongs to.
    ///
    /// Returns nil for any other name. Returns nil too if the names of several targets were cut to
    /// this name: the bytes must not be given to another target.
    ///
    /// - Parameters:
    ///   - name: the file's name.
    ///   - folder: its folder below the root.
    ///   - long: targets of that folder whose names may have been cut to make room for the mark.
    static func target(of name: String, in folder: String, long: [Target]) -> Target? {
        guard let at = find(name) else { return nil }
        let stem = String(name[..<at])
        let rest = name[at...].utf8.dropFirst(mark.utf8.count)
        guard let (stamp, suffix) = split(Substring(rest)) else { return nil }
        let known = Set(
            long.filter { target in
                // The copy may be a target itself, whose own conflict name would be cut to this
                // name.
                target.folder == folder && !target.name.utf8.elementsEqual(name.utf8)
                    && self.name(for: target, stamp: stamp)?.utf8.elementsEqual(name.utf8) == true
            })
        if let first = known.first { return known.count == 1 ? first : nil }
        return stem.isEmpty ? nil : try? Target(folder + "/" + stem + suffix)
    }

    private static func find(_ name: String) -> String.Index? {
        let bytes = Array(name.utf8)
        let mark = Array(mark.utf8)
        guard bytes.count > mark.count + 15 else { return nil }
        // The last mark counts, because a conflict copy can be renamed for a conflict again.
        let at = (0...(bytes.count - mark.count - 16)).last { start in
            bytes[start...].starts(with: mark)
        }
        return at.map { name.utf8.index(name.startIndex, offsetBy: $0) }
    }

    /// Splits the text after the mark into the time with its number, and the suffix.
    ///
    /// Returns nil if the text has another form.
    private static func split(_ rest: Substring) -> (stamp: String, suffix: String)? {
        let bytes = Array(rest.utf8)
        guard bytes.count >= 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z"),
            (0..<15).allSatisfy({ $0 == 8 || (0x30...0x39).contains(bytes[$0]) })
        else { return nil }
        var end = 16
        if bytes.count > end, bytes[end] == UInt8(ascii: "-") {
            end += 1
            while bytes.count > end, (0x30...0x39).contains(bytes[end]) { end += 1 }
            guard end > 17 else { return nil }
        }
        guard bytes.count == end || bytes[end] == UInt8(ascii: ".") else { return nil }
        return (
            String(decoding: bytes[..<end], as: UTF8.self),
            String(decoding: bytes[end...], as: UTF8.self)
        )
    }
}

/// Which of two files stays at a target.
package enum ConflictSide: String, Sendable, Hashable, CaseIterable {
    /// The conflict copy: the file that had to make room.
    case mine
    /// The version that mirror brought.
    case theirs

    /// The other of the two.
    package var other: ConflictSide { self == .mine ? .theirs : .mine }
}

/// How a conflict ends: which file takes the target's place, and which leave the tree.
package struct ResolveReport: Sendable, Hashable {
    /// The root's path.
    package var root: String
    /// The target.
    package var target: Target
    /// Which of the files stays.
    package var kept: ConflictSide
    /// The copy that gets the target's name. `nil` means that the target's file stays.
    package var restored: ConflictCopy?
    /// The copies that leave the tree.
    package var removed: [ConflictCopy] = []
    /// The paths below the root at which the files that left the tree are kept for a while.
    package var setAside: [String] = []

    /// Decides how a conflict ends; `name` is the target, or one of its copies.
    ///
    /// Throws `MirrorError` with `usage` if there is no copy, or if several copies could take the
    /// target's place. Throws it too for a target outside Documents: there mirror would fetch a
    /// changed file again.
    static func decide(
        _ name: Target, keeping side: ConflictSide, among copies: [ConflictCopy], root: String
    ) throws(MirrorError) -> ResolveReport {
        let (chosen, target) = try choose(name, among: copies)
        if side == .theirs {
            return ResolveReport(root: root, target: target, kept: side, removed: chosen)
        }
        guard target.area == .documents else {
            throw MirrorError(
                .usage,
                "\(name): mirror fetches changed files of Caches and tmp again, so it would not stay. Move the copy elsewhere, or give it up.",
                remedy: Remedy(.keepTheirs))
        }
        guard chosen.count == 1 else {
            let names = chosen.map(\.copy.path).joined(separator: ", ")
            throw MirrorError(
                .usage,
                "\(name): there are \(chosen.count) conflict copies, and one can take its place. Name the one to keep: \(names)."
            )
        }
        return ResolveReport(root: root, target: target, kept: side, restored: chosen.first)
    }

    /// Returns the copies that a name means, and their target.
    ///
    /// Throws `MirrorError` with `usage` if there is no copy.
    static func choose(
        _ name: Target, among copies: [ConflictCopy]
    ) throws(MirrorError) -> (copies: [ConflictCopy], target: Target) {
        let meant = copies.filter { $0.copy == name }
        let chosen = meant.isEmpty ? copies.filter { $0.target == name } : meant
        if let first = chosen.first { return (chosen, first.target) }
        let nearest = NearestName.suggestion(
            for: name.path, among: copies.map(\.target.path), longest: 3072)
        let hint =
            copies.first { $0.target.path == nearest }.map { "Did you mean \($0.target)?" }
            ?? "mirror resolve lists those that are."
        throw MirrorError(.usage, "\(name): there is no conflict copy of it. \(hint)")
    }

    /// Writes the report as one JSON document.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("v", 1)
            json.member("root", root)
            json.member("path", target.path)
            json.member("kept", kept.rawValue)
            json.member("restored", restored?.copy.path)
            json.array("removed", removed) { copy, json in json.string(copy.copy.path) }
            json.member("setAside", setAside)
        }
    }
}

extension ConflictCopy {
    /// Makes the target under which mirror keeps a file whose place a new version needs.
    ///
    /// `attempt` counts from 1. The name contains the attempt only from 2 on. The stem is cut at a
    /// character's boundary, so that the name has at most 255 bytes. Returns nil if the folder's
    /// path leaves no room for any such name.
    static func make(for target: Target, at instant: Instant, attempt: Int = 1) -> Target? {
        let stamp = instant.basicFormat + (attempt > 1 ? "-\(attempt)" : "")
        return name(for: target, stamp: stamp).flatMap { try? target.sibling(named: $0) }
    }

    /// Returns a conflict copy's name; `stamp` is the time with its number.
    ///
    /// Returns nil if the folder's path leaves no room for the name.
    static func name(for target: Target, stamp: String) -> String? {
        let (stem, suffix) = split(target.name)
        let rest = mark + stamp + suffix
        let room = min(255, Target.longestPath - target.folder.utf8.count - 1) - rest.utf8.count
        return room < 0 ? nil : stem.prefix(bytes: room) + rest
    }

    /// Splits a name before its last dot; the suffix begins with the dot.
    ///
    /// A name whose only dot is its first character has no extension. Text of more than 32 bytes
    /// after the dot is no extension either.
    private static func split(_ name: String) -> (stem: String, suffix: String) {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex,
            name.utf8.distance(from: dot, to: name.endIndex) <= 33
        else { return (name, "") }
        return (String(name[..<dot]), String(name[dot...]))
    }
}

/// The treatment of untracked or edited bytes at a target when another version is wanted there.
public enum ConflictPolicy: String, Sendable, CaseIterable {
    /// The existing bytes get a conflict name beside the target.
    case rename
    /// The existing bytes stay, and the resource fails.
    case keep
    /// The new version replaces the existing bytes.
    case replace
}
