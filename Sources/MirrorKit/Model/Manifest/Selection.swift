/// Which resources of a manifest are wanted: by their tags, by patterns of their targets, and of
/// Python's wheels by what they are for.
///
/// A word with `/`, `*`, `?` or `[` is a pattern too (`TargetPattern`). A resource has the word if
/// it is one of its tags, or if the pattern matches its target.
package struct Selection: Sendable, Hashable {
    /// Selects only resources with one of these words. An empty set selects all resources.
    package let only: Set<String>
    /// Leaves out resources with one of these words.
    package let skip: Set<String>
    /// The Python and the platform for which the best file of each release is selected.
    package let wheels: WheelTarget?
    private let onlyPatterns: [TargetPattern]
    private let skipPatterns: [TargetPattern]

    /// Makes a selection. Without words and wheels it selects everything.
    package init(only: Set<String> = [], skip: Set<String> = [], wheels: WheelTarget? = nil) {
        (self.only, self.skip, self.wheels) = (only, skip, wheels)
        onlyPatterns = only.sorted().compactMap { TargetPattern($0) }
        skipPatterns = skip.sorted().compactMap { TargetPattern($0) }
    }

    /// Whether it selects everything.
    package var isAll: Bool { only.isEmpty && skip.isEmpty && wheels == nil }

    /// Whether a resource with these tags and this target is selected.
    func selects(tags: [String], path: UnsafeBufferPointer<UInt8>) -> Bool {
        !skips(tags, path) && chooses(tags, path)
    }

    /// Whether `skip` leaves a resource out.
    ///
    /// `dev+optional` is a tag of two words, for a file that is needed for either word. The file is
    /// left out only if both words are skipped. The file is selected if one of the words is.
    private func skips(_ tags: [String], _ path: UnsafeBufferPointer<UInt8>) -> Bool {
        tags.contains { tag in
            skip.contains(tag) || Selection.words(of: tag).allSatisfy { skip.contains($0) }
        } || skipPatterns.contains { $0.matches(path) }
    }

    /// Whether `only` selects a resource.
    private func chooses(_ tags: [String], _ path: UnsafeBufferPointer<UInt8>) -> Bool {
        only.isEmpty
            || tags.contains { tag in
                only.contains(tag) || Selection.words(of: tag).contains { only.contains($0) }
            } || onlyPatterns.contains { $0.matches(path) }
    }

    /// The words of a tag between its plus signs. If a word is empty, as in `c++`, the tag itself.
    private static func words(of tag: String) -> [String] {
        guard tag.utf8.contains(UInt8(ascii: "+")) else { return [tag] }
        let words = tag.parts(at: "+", keepingEmpty: true).map(String.init)
        return words.contains("") ? [tag] : words
    }
}

// MARK: The resources of manifests

extension Selection {
    /// Returns the positions of the resources that it leaves out.
    func leftOut(of table: ResourceTable) -> PositionSet {
        if isAll { return PositionSet() }
        var leftOut = wheels?.leftOut(of: table) ?? PositionSet()
        if only.isEmpty, skip.isEmpty { return leftOut }
        for position in table.indices {
            let tags = table.tags(at: position)
            let isSelected = table.withPath(at: position) { selects(tags: tags, path: $0) }
            if !isSelected { leftOut.insert(position) }
        }
        return leftOut
    }

    /// Throws `MirrorError` with `usage` for a word that no resource of the manifests has.
    ///
    /// Such a word selects no resource, which a user would not notice.
    func refuseUnknownWords(in manifests: [Manifest]) throws(MirrorError) {
        for (word, pattern) in try unknownPatterns(in: manifests)
        where !pattern.matchesTarget(in: manifests) {
            throw MirrorError(.usage, NearestName.sentence(pattern: word, in: manifests))
        }
    }

    /// Returns the words that are no tags and may be patterns.
    ///
    /// Throws `MirrorError` with `usage` for a word that is neither.
    @discardableResult
    func unknownPatterns(
        in manifests: [Manifest]
    ) throws(MirrorError) -> [(word: String, pattern: TargetPattern)] {
        if isAll { return [] }
        let tags = Selection.tags(in: manifests)
        var patterns: [(word: String, pattern: TargetPattern)] = []
        for word in only.sorted() + skip.sorted() where !tags.contains(word) {
            guard let pattern = TargetPattern(word) else {
                throw MirrorError(
                    .usage, NearestName.sentence(tag: word, known: tags, in: manifests))
            }
            patterns.append((word, pattern))
        }
        return patterns
    }

    /// The tags of manifests, and the words of tags such as `dev+optional`.
    static func tags(in manifests: [Manifest]) -> Set<String> {
        var tags: Set<String> = []
        for manifest in manifests {
            for at in manifest.resources.indices {
                tags.formUnion(manifest.resources.tags(at: at))
            }
        }
        return tags.union(tags.flatMap { words(of: $0) })
    }
}

extension Manifest {
    /// Adds Python's releases of which the selections leave no file to the entries left out.
    ///
    /// A release that `only` does not choose, or that `skip` leaves out, is not missed. The words
    /// `sdist` and `wheel` choose among the files of a release, so they skip no release.
    ///
    /// - Parameter narrowing: what narrows the manifest's selection in this run alone.
    package mutating func leaveOutUnfitReleases(_ narrowing: Selection = Selection()) {
        let selections = [selection, narrowing]
        let targets = selections.compactMap(\.wheels)
        if targets.isEmpty { return }
        let kinds: Set = ["sdist", "wheel"]
        let wanted = selections.map {
            Selection(only: $0.only, skip: $0.skip.subtracting(kinds))
        }
        let unselected = selections.map { $0.leftOut(of: resources) }
        var isLeft: [String: Bool] = [:]
        var releases: [(name: String, position: Int)] = []
        for position in resources.indices {
            let name = resources.target(at: position).name
            let tags = resources.tags(at: position)
            let sdist = tags.contains("sdist") ? WheelName.release(ofSdist: name) : nil
            guard let release = WheelName(name)?.release ?? sdist,
                resources.withPath(
                    at: position,
                    { path in wanted.allSatisfy { $0.selects(tags: tags, path: path) } })
            else { continue }
            if isLeft[release] == nil { releases.append((release, position)) }
            let isSelected = !unselected.contains { $0.contains(position) }
            isLeft[release] = isLeft[release] == true || isSelected
        }
        let skipped = kinds.intersection(selections.flatMap(\.skip)).sorted()
        let reason =
            "it has no file for " + targets.map(\.description).joined(separator: " and ")
            + (skipped.isEmpty ? "" : " without \(skipped.joined(separator: ", "))")
        for (release, position) in releases where isLeft[release] == false {
            let place = resources.place(at: position)
            leftOut.append(
                LeftOutEntry(release, reason, line: place.line, column: place.column))
        }
    }
}

extension Manifest {
    /// Whether the manifest names a target, and its selection leaves the target out.
    package func leavesOut(_ target: Target) -> Bool {
        if selection.isAll { return false }
        let leftOut = selection.leftOut(of: resources)
        return resources.indices.contains {
            leftOut.contains($0) && resources.target(at: $0) == target
        }
    }

    /// How many resources the selection leaves.
    package var selectedCount: Int {
        resources.count - selection.leftOut(of: resources).count
    }
}

// MARK: Text

extension Selection: CustomStringConvertible {
    /// The words for people: `curl, Caches/py/** without tests`.
    package var description: String {
        let words = { (words: Set<String>) in words.sorted().joined(separator: ", ") }
        var text = only.isEmpty ? "" : words(only)
        if let wheels { text += (text.isEmpty ? "" : ", ") + "wheels for \(wheels)" }
        if text.isEmpty { text = "all" }
        return skip.isEmpty ? text : text + " without " + words(skip)
    }

    /// The selection as the index stores it: one line for each word.
    var lines: [String] {
        only.sorted().map { "only " + $0 } + skip.sorted().map { "skip " + $0 }
            + [wheels?.platform.map { "platform " + $0 }, wheels?.python.map { "python " + $0 }]
            .compactMap(\.self)
    }

    /// Creates a selection from the lines that `lines` returned. Other lines are ignored.
    init(lines text: String) {
        var (only, skip): (Set<String>, Set<String>) = ([], [])
        var (platform, python): (String?, String?)
        for line in text.split(separator: "\n") {
            guard let (word, value) = line.halves(atFirst: " ") else { continue }
            switch word {
            case "only": only.insert(String(value))
            case "skip": skip.insert(String(value))
            case "platform": platform = String(value)
            case "python": python = String(value)
            default: break
            }
        }
        let wheels = try? WheelTarget(platform: platform, python: python)
        self.init(only: only, skip: skip, wheels: wheels)
    }
}

/// A pattern of targets: `Caches/py/**`, `Documents/*.pdf`, `*.whl`.
///
/// - `*` stands for any text within one name, `?` for one character, `[a-z]` for one of a range,
///   `[!a-z]` for one outside of it; `\` makes the next character a plain one.
/// - `**` as a whole name stands for any number of folders. At the end it stands for everything
///   in the folder, and so does a `/` at the end.
/// - A pattern without `/` is a file's name in any folder.
///
/// A match takes time in proportion to the product of both lengths at most.
struct TargetPattern: Sendable, Hashable {
    private let names: [Name]

    /// What stands between two slashes.
    private enum Name: Sendable, Hashable {
        case anyFolders
        case plain([UInt8])
        case pattern([Element])
    }

    private enum Element: Sendable, Hashable {
        case anyText
        case anyCharacter
        case character(Unicode.Scalar)
        case oneOf([ClosedRange<Unicode.Scalar>], isNegated: Bool)
    }

    /// Reads a pattern. Returns nil if the word has none of the characters that make a pattern.
    init?(_ word: String) {
        guard word.utf8.contains(where: "/*?[".utf8.contains) else { return nil }
        var names = word.split(separator: "/").map { TargetPattern.name($0) }
        if word.utf8.last == UInt8(ascii: "/") { names.append(.anyFolders) }
        if !word.utf8.contains(UInt8(ascii: "/")) { names.insert(.anyFolders, at: 0) }
        self.names = names
    }

    private static func name(_ text: Substring) -> Name {
        if text == "**" { return .anyFolders }
        var elements: [Element] = []
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "*": if elements.last != .anyText { elements.append(.anyText) }
            case "?": elements.append(.anyCharacter)
            case "\\": elements.append(.character(rest.popFirst() ?? scalar))
            case "[":
                let range = oneOf(rest)
                elements.append(range?.element ?? .character(scalar))
                rest = range?.rest ?? rest
            default: elements.append(.character(scalar))
            }
        }
        var plain = String.UnicodeScalarView()
        for element in elements {
            guard case .character(let scalar) = element else { return .pattern(elements) }
            plain.append(scalar)
        }
        return .plain(Array(String(plain).utf8))
    }

    /// Reads what follows a `[`. Returns nil if no `]` ends it.
    private static func oneOf(
        _ text: Substring.UnicodeScalarView
    ) -> (element: Element, rest: Substring.UnicodeScalarView)? {
        var rest = text
        let isNegated = rest.first == "!" || rest.first == "^"
        if isNegated { rest.removeFirst() }
        var ranges: [ClosedRange<Unicode.Scalar>] = []
        while let first = rest.popFirst() {
            // A `]` at the beginning is a plain character (glob(7)).
            if first == "]", !ranges.isEmpty { return (.oneOf(ranges, isNegated: isNegated), rest) }
            var last = first
            if rest.first == "-", let end = rest.dropFirst().first, end != "]" {
                rest.removeFirst(2)
                last = end
            }
            ranges.append(min(first, last)...max(first, last))
        }
        return nil
    }

    /// Whether the pattern matches the whole path of a target.
    func matches(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        let parts = path.split(separator: UInt8(ascii: "/"))
        // `Caches/**` is what lies in Caches, so its last name stands for one part at least.
        return TargetPattern.match(
            names, parts, least: names.last == .anyFolders ? 1 : 0,
            standsForAny: { $0 == .anyFolders },
            isEqual: { name, part in
                switch name {
                case .anyFolders: true
                case .plain(let bytes): bytes.elementsEqual(part)
                case .pattern(let elements): TargetPattern.matches(elements, part)
                }
            })
    }

    /// Whether the pattern matches a whole path.
    func matches(_ path: String) -> Bool {
        var path = path
        return path.withUTF8 { matches($0) }
    }

    /// Whether the pattern matches a target of the manifests.
    func matchesTarget(in manifests: [Manifest]) -> Bool {
        manifests.contains { manifest in
            manifest.resources.indices.contains { position in
                manifest.resources.withPath(at: position) { matches($0) }
            }
        }
    }

    private static func matches(
        _ elements: [Element], _ part: Slice<UnsafeBufferPointer<UInt8>>
    ) -> Bool {
        match(
            elements, Array(String(decoding: part, as: UTF8.self).unicodeScalars), least: 0,
            standsForAny: { $0 == .anyText },
            isEqual: { element, scalar in
                switch element {
                case .anyText, .anyCharacter: true
                case .character(let other): other == scalar
                case .oneOf(let ranges, let isNegated):
                    ranges.contains { $0.contains(scalar) } != isNegated
                }
            })
    }

    /// Compares a text with a pattern in which some elements stand for any number of others.
    ///
    /// - Parameter least: how many elements the last one of the pattern stands for at least.
    private static func match<Pattern, Text>(
        _ pattern: [Pattern], _ text: [Text], least: Int, standsForAny: (Pattern) -> Bool,
        isEqual: (Pattern, Text) -> Bool
    ) -> Bool {
        var (at, position) = (0, 0)
        // The place after the last such element, and where the text goes on after what it stands
        // for. Earlier ones need no other try: if they took more, less would be left for the rest.
        var retry: (at: Int, position: Int)?
        while position < text.count {
            if at < pattern.count, standsForAny(pattern[at]) {
                at += 1
                if at == pattern.count { return true }
                retry = (at, position)
            } else if at < pattern.count, isEqual(pattern[at], text[position]) {
                at += 1
                position += 1
            } else if let last = retry {
                (at, position) = (last.at, last.position + 1)
                retry = (at, position)
            } else {
                return false
            }
        }
        while at < pattern.count - least, standsForAny(pattern[at]) { at += 1 }
        return at == pattern.count
    }
}
