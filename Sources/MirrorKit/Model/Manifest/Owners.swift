/// The names of the manifests that own a target.
///
/// Most targets have one owner. Several manifests own a target together if each of them pins the
/// same bytes. The target becomes an orphan when its last owner releases it.
package struct Owners: Sendable, Hashable {
    // No declared name has a control character, so a control character can separate names.
    private static let separator = UInt8(0x1F)

    /// The names as the index stores them: sorted, with U+001F between two names.
    let text: String

    /// Creates a value with one owner.
    init(_ name: String) {
        guard name.utf8.contains(Owners.separator) else {
            text = name
            return
        }
        // Only a file's stem can contain the separator, because a file may have any name.
        text = name.parts(at: "\u{1F}").joined(separator: " ")
    }

    /// Creates a value with several owners. An empty list means that the target has no owner.
    package init(_ names: some Sequence<String>) {
        let all = Array(names)
        guard all.count != 1 else {
            self.init(all[0])
            return
        }
        let names = Set(all.map { Owners($0).text }).subtracting([""])
        let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        self.init(text: sorted.joined(separator: "\u{1F}"))
    }

    /// Creates a value from the text that the index stores.
    init(text: String) { self.text = text }

    /// The names, sorted by their bytes.
    var names: [String] {
        if text.isEmpty { return [] }
        return isShared ? text.parts(at: "\u{1F}").map(String.init) : [text]
    }

    /// Whether the target has no owner.
    var isEmpty: Bool { text.isEmpty }

    /// Whether the target has several owners.
    var isShared: Bool { text.utf8.contains(Owners.separator) }

    /// Whether the manifest of this name is an owner.
    func contains(_ name: String) -> Bool {
        let name = Owners(name).text
        return text == name || isShared && names.contains(name)
    }

    /// The owners after one of them released the target.
    func without(_ name: String) -> Owners {
        let name = Owners(name).text
        return Owners(names.filter { $0 != name })
    }

    /// The owners after a manifest got another name.
    func renaming(_ old: String, to new: String) -> Owners {
        contains(old) ? Owners(without(old).names + [new]) : self
    }

    /// Whether the text of an index row names several owners.
    static func areShared(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        text.contains(separator)
    }
}

extension Owners: CustomStringConvertible {
    /// The names for messages: `a`, `a and b`, `a, b and c`.
    package var description: String {
        let names = names
        guard names.count > 1, let last = names.last else { return names.first ?? "nobody" }
        return names.dropLast().joined(separator: ", ") + " and " + last
    }
}

// MARK: Owners of a wanted target, when the index knows other owners

extension Owners {
    /// What another owner says about a target that a manifest of the run wants.
    enum Position: Sendable, Hashable {
        /// The owner's manifest no longer names the target, or its text is unknown.
        case silent
        /// The owner wants the same bytes.
        case agrees
        /// The owner's declarations differ, so that the target cannot be shared.
        case disputes
    }

    /// Returns the manifests that want a target, and the recorded owners that agree with them.
    ///
    /// Returns nil if another owner disputes the target and `takesOver` is false.
    ///
    /// - Parameters:
    ///   - recorded: the owners in the index. `nil` means that the target has no row.
    ///   - wanting: the manifests of the run that want the target.
    ///   - takesOver: whether the manifests of the run take a disputed target from its other
    ///     owners.
    ///   - position: returns what the owner of a name says about the target.
    static func merging(
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

    /// Returns the owners that remain when the manifests of a run no longer name the target.
    ///
    /// Returns nil if no manifest of the run is an owner, because nothing changes then.
    ///
    /// - Parameter letsGo: whether a manifest of the run has this name and may release the target.
    func left(letsGo: (String) -> Bool) -> Owners? {
        let names = names
        let left = names.filter { !letsGo($0) }
        return left.count == names.count ? nil : Owners(left)
    }
}
