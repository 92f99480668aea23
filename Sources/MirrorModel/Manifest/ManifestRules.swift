/// The rules for values that a type alone does not keep, such as a size below zero.
///
/// The reader of a text holds each value against them at its place, and `Manifest.validate` those that
/// a program has set. A flaw is the end of a sentence that begins with the value's name or place.
package enum ManifestRules {
    /// The greatest length of a manifest's name in bytes.
    private static let longestName = 200

    /// What is wrong with a manifest's name.
    package static func flaw(ofName name: String) -> String? {
        if name.isEmpty { return "it is empty; write a name" }
        if name.utf8.count > longestName { return "it has more than \(longestName) bytes" }
        let hasControl = name.unicodeScalars.contains {
            $0.value < 0x20 || (0x7F..<0xA0).contains($0.value)
        }
        return hasControl ? "it has a control character" : nil
    }

    /// What is wrong with a number of bytes.
    package static func flaw(ofBytes count: Int64) -> String? {
        count < 0 ? "is \(count); write the number of bytes" : nil
    }

    /// What is wrong with a tag.
    package static func flaw(ofTag tag: String) -> String? {
        let isSound =
            !tag.isEmpty
            && tag.unicodeScalars.allSatisfy {
                $0.value > 0x20 && $0 != "," && !(0x7F..<0xA0).contains($0.value)
            }
        return isSound ? nil : "the tag \(Quoted(tag)) is empty or has a space or a comma"
    }

    /// What is wrong with the time after which a resource is asked for again.
    package static func flaw(of refresh: Refresh) -> String? {
        guard case .after(let seconds) = refresh else { return nil }
        if (1...DurationText.longest).contains(seconds) { return nil }
        return "refresh is \(seconds) s; write a duration such as 90s 15m 6h 1d 2w"
    }

    /// What is wrong with a header of a name that an earlier one has.
    package static func flaw(ofSecond name: String) -> String {
        "the header \(Quoted(name)) is here a second time; keep one"
    }

    /// What is wrong with pieces of a file that has a size.
    package static func flaw(of pieces: Pieces, size: Int64?) -> String? {
        guard let size, !pieces.fits(size: size) else { return nil }
        return "\(Counted(pieces.count, "piece")) of \(Counted(pieces.length, "byte"))"
            + " \(Counted.verb(pieces.count, "is", "are")) not a file of \(Counted(size, "byte"))"
    }

    /// What is wrong with a digest beside another of its algorithm; `place` says where that is.
    package static func flaw(of digest: Digest, beside other: Digest, at place: String) -> String? {
        guard digest.algorithm == other.algorithm, digest != other else { return nil }
        return "this \(digest.algorithm.rawValue) is \(digest.hex.prefix(12))…, \(place) says"
            + " \(other.hex.prefix(12))…; keep the right one"
    }
}

// MARK: Manifests that a program made

extension Manifest {
    /// Refuses a manifest that its reader would not accept from a text.
    ///
    /// Plans and everything else that takes manifests call it, so a program need not. It takes time in
    /// proportion to the resources that were set since the manifest was read. Throws `MirrorError` with
    /// `manifestInvalid` for the first flaw.
    public func validate() throws(MirrorError) {
        // A file without a declared name lends its own, whatever that is.
        for text in [name, whereabouts == .code ? owner : nil].compactMap(\.self) {
            if let flaw = ManifestRules.flaw(ofName: text) {
                throw MirrorError(
                    .manifestInvalid,
                    "The name of a manifest, \(Quoted(text)), cannot be used: \(flaw).")
            }
        }
        if resources.isValid { return }
        let ofValues = resources.lazy.compactMap { resource in
            resource.flaw.map { "\(resource.target): \($0)" }
        }
        let flaw = ofValues.first ?? flaws().first.map(sentence)
        if let flaw { throw MirrorError(.manifestInvalid, "\(owner): \(flaw).") }
    }
}

extension Resource {
    /// What is wrong with a value, or with two values together.
    fileprivate var flaw: String? {
        if let flaw = size.flatMap({ ManifestRules.flaw(ofBytes: $0) }) { return "size \(flaw)" }
        if let flaw = pieces.flatMap({ ManifestRules.flaw(of: $0, size: size) }) { return flaw }
        // They are sorted, so two of one algorithm are neighbours.
        for (digest, other) in zip(digests.dropFirst(), digests) {
            let flaw = ManifestRules.flaw(of: digest, beside: other, at: "another")
            if let flaw { return flaw }
        }
        return mirrors.lazy.compactMap(\.headers.flaw).first ?? primary.headers.flaw
            ?? ManifestRules.flaw(of: refresh)
            ?? tags.lazy.compactMap { ManifestRules.flaw(ofTag: $0) }.first
    }
}

extension [HeaderField] {
    /// The flaw of two headers of one name.
    fileprivate var flaw: String? {
        if count < 2 { return nil }
        // Names are ASCII (RFC 9110 §5.1).
        var names: Set<String> = []
        let second = first { !names.insert($0.name.lowercased()).inserted }
        return second.map { ManifestRules.flaw(ofSecond: $0.name) }
    }
}
