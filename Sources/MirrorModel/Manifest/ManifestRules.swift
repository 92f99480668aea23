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

/// Why the resources of a manifest, each sound by itself, cannot be one tree.
///
/// Resources are named by their positions; `first` is the one that comes earlier in the manifest.
public enum ManifestRuleError: Sendable, Hashable {
    /// Two resources have the same target.
    case equalTargets(first: Int, second: Int)
    /// Two targets would be one file where case, or the form of accents, makes no difference.
    case targetsAlike(first: Int, second: Int)
    /// Two folders would be one where case, or the form of accents, makes no difference.
    case foldersAlike(first: Int, second: Int, firstFolder: String, secondFolder: String)
    /// One target is the folder of another.
    case targetIsFolder(target: Int, inside: Int)
    /// One request is declared to give bytes of two digests.
    case twoDigests(first: Int, second: Int, url: SourceURL, digests: [Digest])

    /// The resource at which the flaw is reported: the one that comes later in the manifest.
    public var position: Int {
        switch self {
        case .equalTargets(let first, let second), .targetsAlike(let first, let second),
            .foldersAlike(let first, let second, _, _), .twoDigests(let first, let second, _, _),
            .targetIsFolder(let first, let second):
            max(first, second)
        }
    }

    /// The other resource.
    public var otherPosition: Int {
        switch self {
        case .equalTargets(let first, let second), .targetsAlike(let first, let second),
            .foldersAlike(let first, let second, _, _), .twoDigests(let first, let second, _, _),
            .targetIsFolder(let first, let second):
            min(first, second)
        }
    }

    /// The flaws in the order of the manifest.
    package static func inOrder(_ flaws: [ManifestRuleError]) -> [ManifestRuleError] {
        flaws.sorted { $0.position < $1.position }
    }
}

extension Manifest {
    /// The flaws that keep the resources from being one tree, in the order of the manifest.
    ///
    /// Empty when there are none. Takes time in proportion to the resources, and 16 bytes for each
    /// while it runs, or 32 where targets and digests are looked at together.
    public func flaws() -> [ManifestRuleError] {
        ManifestRuleError.inOrder(flawsOfTargets() + flawsOfDigests())
    }

    /// The flaws of targets that cannot stand beside each other in one tree.
    package func flawsOfTargets() -> [ManifestRuleError] { resources.collisions() }

    /// The flaws of requests that are declared to give bytes of two digests.
    package func flawsOfDigests() -> [ManifestRuleError] { resources.digestContradictions() }

    /// A flaw as a sentence that names the resources concerned.
    public func sentence(on flaw: ManifestRuleError) -> String {
        let target = { (position: Int) in Quoted(resources.target(at: position).path) }
        switch flaw {
        case .equalTargets(let first, let second):
            return "\(target(second)) is also the target of \(place(first, second));"
                + " give one of them another path"
        case .targetsAlike(let first, let second):
            return "\(target(second)) and \(target(first)) (\(place(first, second))) differ only in"
                + " case or in how accents are written; rename one"
        case .foldersAlike(let first, let second, let firstFolder, let secondFolder):
            return "the folders \(Quoted(secondFolder)) and \(Quoted(firstFolder))"
                + " (\(place(first, second))) differ only in case or in how accents are written;"
                + " write one of them everywhere"
        case .targetIsFolder(let file, let inside):
            return "\(target(file)) would be a file and the folder of \(target(inside))"
                + " (\(place(flaw.otherPosition, flaw.position))); rename one"
        case .twoDigests(let first, let second, let url, let digests):
            let values = digests.map { Escaped($0.description, limit: 24).description }
            return "\(url) is said to give \(values.joined(separator: " and "))"
                + " (\(place(first, second))); one URL gives one version"
        }
    }

    private func place(_ first: Int, _ second: Int) -> String {
        let line = resources.place(at: first).line
        return line > 0 ? "line \(line)" : "resource \(first + 1)"
    }
}

// MARK: Requests that are declared to give bytes of two digests

// A request is a method, a body and a URL; only digests of one algorithm can contradict each other.

extension ResourceTable {
    /// A flaw for each resource that contradicts an earlier one.
    fileprivate func digestContradictions() -> [ManifestRuleError] {
        var known = RepeatedHashes(expecting: count)
        forEachRequest { hash, _, _ in known.insert(UInt64(bitPattern: Int64(hash))) }
        known.find()
        if known.repeated.isEmpty { return [] }
        var requests: [Request] = []
        forEachRequest { hash, position, source in
            if known.contains(UInt64(bitPattern: Int64(hash))) {
                requests.append(Request(hash: hash, position: position, source: source))
            }
        }
        requests.sort { ($0.hash, $0.position) < ($1.hash, $1.position) }
        var flaws: [ManifestRuleError] = []
        var start = 0
        while start < requests.count {
            var end = start + 1
            while end < requests.count, requests[end].hash == requests[start].hash { end += 1 }
            if end - start > 1 { compare(requests[start..<end], &flaws) }
            start = end
        }
        return flaws
    }

    /// A request whose hash is not its alone.
    private struct Request {
        var hash: Int
        var position: Int
        /// What is asked and declared, where the resource has several sources: such a resource may
        /// have very many, so none is looked up a second time. Nil for any other.
        var source: (url: SourceURL, method: RequestMethod, digests: [Digest])?
    }

    /// Passes a hash of each request whose response has a declared digest to the body.
    private func forEachRequest(
        _ body: (
            _ hash: Int, _ position: Int,
            _ source: (url: SourceURL, method: RequestMethod, digests: [Digest])?
        ) -> Void
    ) {
        for position in indices where hasDigest(at: position) {
            if hasOneSource(at: position) {
                body(requestHash(at: position), position, nil)
                continue
            }
            let resource = self[position]
            for source in resource.sources {
                body(
                    ResourceTable.requestHash(resource.method, source.url), position,
                    (source.url, resource.method, resource.digests))
            }
        }
    }

    /// Compares what resources with requests of one hash declare with what the first of them did.
    private func compare(
        _ requests: ArraySlice<Request>, _ flaws: inout [ManifestRuleError]
    ) {
        var first: [(position: Int, method: RequestMethod, url: SourceURL, digest: Digest)] = []
        for request in requests {
            let position = request.position
            let (url, method, digests) = request.source ?? declared(by: self[position])
            var isContradicted = false
            for digest in digests {
                let earlier = first.first {
                    $0.url == url && $0.method == method
                        && $0.digest.algorithm == digest.algorithm
                }
                guard let earlier else {
                    first.append((position, method, url, digest))
                    continue
                }
                if isContradicted || earlier.digest == digest { continue }
                isContradicted = true
                flaws.append(
                    .twoDigests(
                        first: earlier.position, second: position, url: url,
                        digests: [earlier.digest, digest]))
            }
        }
    }

    private func declared(
        by resource: Resource
    ) -> (url: SourceURL, method: RequestMethod, digests: [Digest]) {
        (resource.primary.url, resource.method, resource.digests)
    }
}
