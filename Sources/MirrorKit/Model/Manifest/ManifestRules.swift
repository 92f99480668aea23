/// The rules for values that a type alone does not keep, such as a size below zero.
///
/// The manifest reader checks each value as it reads it. `Manifest.validate` checks the values that
/// a program has set. Each function returns the flaw as the end of a sentence, which the caller
/// begins with the value's name or place. `nil` means that the value is sound.
enum ManifestRules {
    /// The greatest length of a manifest's name in bytes.
    private static let longestName = 200

    /// What is wrong with a manifest's name.
    static func flaw(ofName name: String) -> String? {
        if name.isEmpty { return "it is empty; write a name" }
        if name.utf8.count > longestName { return "it has more than \(longestName) bytes" }
        let hasControl = name.unicodeScalars.contains {
            $0.value < 0x20 || (0x7F..<0xA0).contains($0.value)
        }
        return hasControl ? "it has a control character" : nil
    }

    /// What is wrong with a number of bytes.
    static func flaw(ofBytes count: Int64) -> String? {
        count < 0 ? "is \(count); write the number of bytes" : nil
    }

    /// What is wrong with a tag.
    static func flaw(ofTag tag: String) -> String? {
        let isSound =
            !tag.isEmpty
            && tag.unicodeScalars.allSatisfy {
                $0.value > 0x20 && $0 != "," && !(0x7F..<0xA0).contains($0.value)
            }
        return isSound ? nil : "the tag \(Quoted(tag)) is empty or has a space or a comma"
    }

    /// What is wrong with a `refresh`: when mirror asks for a resource again.
    static func flaw(of refresh: Refresh) -> String? {
        guard case .after(let time) = refresh else { return nil }
        let seconds = time.wholeSeconds
        if (1...DurationText.longest).contains(seconds) { return nil }
        return "refresh is \(seconds) s; write a duration such as 90s 15m 6h 1d 2w"
    }

    /// What is wrong with a second header of the same name.
    static func flaw(ofSecond name: String) -> String {
        "the header \(Quoted(name)) is here a second time; keep one"
    }

    /// What is wrong with the pieces of a file of this size.
    static func flaw(of pieces: Pieces, size: Int64?) -> String? {
        guard let size, !pieces.fits(size: size) else { return nil }
        return "\(Counted(pieces.count, "piece")) of \(Counted(pieces.length, "byte"))"
            + " \(Counted.verb(pieces.count, "is", "are")) not a file of \(Counted(size, "byte"))"
    }

    /// What is wrong with a digest beside another of the same algorithm.
    ///
    /// `place` says where the other digest is.
    static func flaw(of digest: Digest, beside other: Digest, at place: String) -> String? {
        guard digest.algorithm == other.algorithm, digest != other else { return nil }
        return "this \(digest.algorithm.rawValue) is \(digest.hex.prefix(12))…, \(place) says"
            + " \(other.hex.prefix(12))…; keep the right one"
    }
}

// MARK: Manifests that a program made

extension Manifest {
    /// Throws if a program has set values that the manifest reader would not accept.
    ///
    /// Plans and all other functions that take manifests call `validate`, so a program need not. A
    /// manifest that was read and not changed costs no time. For any other manifest, the time grows
    /// with the number of resources. Throws `MirrorError` with `manifestInvalid` for the first
    /// flaw.
    public func validate() throws(MirrorError) {
        // A manifest without a declared name is named after its file, and a file may have any name.
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
    /// What is wrong with one value of the resource, or with two together. `nil` if all is right.
    fileprivate var flaw: String? {
        if let flaw = size.flatMap({ ManifestRules.flaw(ofBytes: $0) }) { return "size \(flaw)" }
        if let flaw = pieces.flatMap({ ManifestRules.flaw(of: $0, size: size) }) { return flaw }
        // Digests are sorted, so two of one algorithm are neighbours.
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
    /// What is wrong if two headers have the same name. `nil` if each name occurs once.
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
/// A case names each resource by its position. `first` comes earlier in the manifest than `second`.
enum ManifestRuleError: Sendable, Hashable {
    /// Two resources have the same target.
    case equalTargets(first: Int, second: Int)
    /// Two targets would be one file where a file system ignores case or the form of accents.
    case targetsAlike(first: Int, second: Int)
    /// Two folders would be one where a file system ignores case or the form of accents.
    case foldersAlike(first: Int, second: Int, firstFolder: String, secondFolder: String)
    /// One target is the folder of another.
    case targetIsFolder(target: Int, inside: Int)
    /// Two resources have one request, but declare different digests for its bytes.
    case twoDigests(first: Int, second: Int, url: SourceURL, digests: [Digest])

    /// The position of the resource at which mirror reports the flaw: the later one in the
    /// manifest.
    var position: Int {
        switch self {
        case .equalTargets(let first, let second), .targetsAlike(let first, let second),
            .foldersAlike(let first, let second, _, _), .twoDigests(let first, let second, _, _),
            .targetIsFolder(let first, let second):
            max(first, second)
        }
    }

    /// The position of the other resource: the earlier one in the manifest.
    var otherPosition: Int {
        switch self {
        case .equalTargets(let first, let second), .targetsAlike(let first, let second),
            .foldersAlike(let first, let second, _, _), .twoDigests(let first, let second, _, _),
            .targetIsFolder(let first, let second):
            min(first, second)
        }
    }

    /// Sorts flaws by the positions at which mirror reports them.
    static func inOrder(_ flaws: [ManifestRuleError]) -> [ManifestRuleError] {
        flaws.sorted { $0.position < $1.position }
    }
}

extension Manifest {
    /// The flaws that keep the resources from being one tree, in the order of the manifest.
    ///
    /// Empty if there are none. The time grows with the number of resources. The call needs 16
    /// bytes of memory a resource, or 32 where targets and digests are checked at the same time.
    func flaws() -> [ManifestRuleError] {
        ManifestRuleError.inOrder(flawsOfTargets() + flawsOfDigests())
    }

    /// The flaws of targets that cannot stand beside each other in one tree.
    func flawsOfTargets() -> [ManifestRuleError] { resources.collisions() }

    /// The flaws of resources that declare different digests for one request.
    func flawsOfDigests() -> [ManifestRuleError] { resources.digestContradictions() }

    /// Returns a flaw as a sentence that names the resources concerned.
    func sentence(on flaw: ManifestRuleError) -> String {
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

// MARK: Requests for which resources declare different digests

// A request is a method, a body and a URL. Only digests of one algorithm can contradict each other.

extension ResourceTable {
    /// Returns a flaw for each resource that contradicts an earlier one.
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

    /// A request whose hash another request shares.
    private struct Request {
        var hash: Int
        var position: Int
        /// The request and the declared digests of a resource with several sources.
        ///
        /// Such a resource may have very many sources, so none is looked up twice. `nil` means that
        /// the resource has one source.
        var source: (url: SourceURL, method: RequestMethod, digests: [Digest])?
    }

    /// Calls the body with the hash of each request for which a resource declares a digest.
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

    /// Compares the digests that resources declare for requests of one hash.
    ///
    /// The first resource with a request counts. Each later one that contradicts the first adds a
    /// flaw.
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
