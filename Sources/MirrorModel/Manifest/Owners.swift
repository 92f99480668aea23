/// The names of the manifests that own a target.
///
/// Mostly there is one. Several own a target together if each of them pins the same bytes. The
/// target becomes an orphan when the last of them releases it.
public struct Owners: Sendable, Hashable {
    // No declared name has a control character, so one of them can stand between names.
    private static let separator = UInt8(0x1F)

    /// The names as the index keeps them: in order, with U+001F between two.
    public let text: String

    /// One owner.
    public init(_ name: String) {
        guard name.utf8.contains(Owners.separator) else {
            text = name
            return
        }
        // Only a file's stem can contain the separator, because a file may have any name.
        text = name.parts(at: "\u{1F}").joined(separator: " ")
    }

    /// Several owners; an empty list is no owner.
    public init(_ names: some Sequence<String>) {
        let all = Array(names)
        guard all.count != 1 else {
            self.init(all[0])
            return
        }
        let names = Set(all.map { Owners($0).text }).subtracting([""])
        let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        self.init(text: sorted.joined(separator: "\u{1F}"))
    }

    /// Takes the text that the index keeps.
    public init(text: String) { self.text = text }

    /// Each name, in the order of their bytes.
    public var names: [String] {
        if text.isEmpty { return [] }
        return isShared ? text.parts(at: "\u{1F}").map(String.init) : [text]
    }

    /// Whether no owner is left.
    public var isEmpty: Bool { text.isEmpty }

    /// Whether there are several.
    public var isShared: Bool { text.utf8.contains(Owners.separator) }

    /// Whether a manifest is one of them.
    public func contains(_ name: String) -> Bool {
        let name = Owners(name).text
        return text == name || isShared && names.contains(name)
    }

    /// The owners after one of them released the target.
    public func without(_ name: String) -> Owners {
        let name = Owners(name).text
        return Owners(names.filter { $0 != name })
    }

    /// The owners when a manifest has another name from now on.
    public func renaming(_ old: String, to new: String) -> Owners {
        contains(old) ? Owners(without(old).names + [new]) : self
    }

    /// Whether the bytes that the index keeps name several.
    package static func areShared(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        text.contains(separator)
    }
}

extension Owners: CustomStringConvertible {
    /// The names for people: `a`, `a and b`, `a, b and c`.
    public var description: String {
        let names = names
        guard names.count > 1, let last = names.last else { return names.first ?? "nobody" }
        return names.dropLast().joined(separator: ", ") + " and " + last
    }
}

// MARK: Owners of a wanted target, when the index knows other owners

extension Owners {
    /// Another owner's position on the target that a manifest wants.
    package enum Position: Sendable, Hashable {
        /// It no longer names the target, or its text is not known.
        case silent
        /// It wants the same bytes.
        case agrees
        /// It wants something else.
        case disputes
    }

    /// The owners: those that want the target now, and those of the others that want the same bytes.
    ///
    /// - Parameters:
    ///   - recorded: the owners that the index knows; nil where it has no row.
    ///   - wanting: the manifests of the run that want the target.
    ///   - takesOver: whether a disputed target is moved to the manifests of the run.
    ///   - position: what another owner says.
    /// - Returns: nil when another owner wants something else.
    package static func merging(
        recorded: Owners?, wanting: [String], takesOver: Bool,
        position: (String) throws -> Position
    ) rethrows -> Owners? {
        guard let recorded else { return Owners(wanting) }
        let wanted = Owners(wanting)
        if recorded == wanted { return wanted }
        var names = wanting
        for name in recorded.names where !wanted.contains(name) {
            switch try position(name) {
            case .silent: continue
            case .agrees: names.append(name)
            case .disputes:
                guard takesOver else { return nil }
            }
        }
        return Owners(names)
    }

    /// The remaining owners when the manifests of a run no longer name the target.
    ///
    /// The result is nil if no manifest of the run is an owner, so that nothing changes.
    ///
    /// - Parameter letsGo: whether a manifest of the run has this name and may release the target.
    package func left(letsGo: (String) -> Bool) -> Owners? {
        let names = names
        let left = names.filter { !letsGo($0) }
        return left.count == names.count ? nil : Owners(left)
    }
}
