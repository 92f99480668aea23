/// The result of pinning one resource: how its declarations change, and why.
package struct PinFinding: Sendable, Hashable {
    /// The target.
    package var target: Target
    /// The line of the manifest on which the resource begins.
    package var line: Int
    /// The result for the resource.
    package var outcome: Outcome
    /// The file's size in bytes. `nil` means that mirror did not read the file.
    package var size: Int64?
    /// The file's sha256. `nil` means that mirror did not read the file.
    package var sha256: Digest?
    /// Whether the manifest declares the size and a digest that proves the bytes.
    var isDeclared = false

    /// The change of a resource's declarations.
    package enum Outcome: Sendable, Hashable {
        /// The resource gains the declarations that it lacks: `size`, `sha256` or both.
        case pin(size: Bool, sha256: Bool)
        /// mirror fetched another version than the manifest declares.
        ///
        /// The size, the sha256 or both are replaced, as `size` and `sha256` say.
        case update(size: Bool, sha256: Bool)
        /// The resource declares its size and its sha256 already.
        case keep
        /// The resource stays as it is, for this reason.
        case leave(Reason)
        /// The declarations contradict the file. The text says how, as the end of a sentence.
        case contradiction(String)
    }

    /// Why pinning leaves a resource as it is.
    package enum Reason: String, Sendable, Hashable, CaseIterable {
        /// mirror has not put a file at the target.
        case notFetched = "not-fetched"
        /// The file is gone.
        case missing
        /// The file has other bytes than mirror put there.
        case changed
        /// The bytes came from a URL that the manifest does not name.
        case otherSource = "other-source"

        /// The reason in words for messages.
        package var because: String {
            switch self {
            case .notFetched: "it was not fetched yet"
            case .missing: "the file is gone"
            case .changed: "it was changed since mirror put it there"
            case .otherSource: "it came from a URL that the manifest does not name; sync first"
            }
        }
    }

    /// Creates a finding from its values.
    init(
        target: Target, line: Int, outcome: Outcome, size: Int64? = nil, sha256: Digest? = nil
    ) {
        self.target = target
        self.line = line
        self.outcome = outcome
        self.size = size
        self.sha256 = sha256
    }

    /// Compares a resource's declarations with the file at its target.
    ///
    /// - Parameters:
    ///   - resource: the resource as the manifest declares it.
    ///   - record: the index's row of the target. `nil` means that there is no row.
    ///   - isOfSource: whether the record's bytes came from one of the resource's sources.
    ///   - size: the file's size in bytes. `nil` means that there is no file.
    ///   - digests: the file's digests, the sha256 first.
    ///   - updates: whether declarations may be replaced by the version that mirror fetched last.
    static func judge(
        _ resource: Resource, record: IndexRecord?, isOfSource: Bool, size: Int64?,
        digests: [Digest], updates: Bool = false
    ) -> PinFinding {
        func finding(_ outcome: Outcome) -> PinFinding {
            var finding = PinFinding(
                target: resource.target, line: resource.line, outcome: outcome, size: size,
                sha256: digests.first)
            finding.isDeclared = resource.size != nil && resource.pin != nil
            return finding
        }
        let declaresSHA256 = resource.digests.contains { $0.algorithm == .sha256 }
        guard let record else { return finding(.leave(.notFetched)) }
        guard let size, let sha256 = digests.first else { return finding(.leave(.missing)) }
        let isAsFetched = sha256 == record.sha256 && isOfSource
        for declared in resource.digests {
            if updates, isAsFetched, declared.algorithm == .sha256 { continue }
            guard let actual = digests.first(where: { $0.algorithm == declared.algorithm }),
                actual != declared
            else { continue }
            return finding(
                .contradiction(
                    "\(declared.algorithm.rawValue) is \(actual.hex), the manifest says \(declared.hex)"
                ))
        }
        if let declared = resource.size, declared != size, !(updates && isAsFetched) {
            return finding(
                .contradiction("it has \(Counted(size, "byte")), the manifest says \(declared)"))
        }
        if sha256 != record.sha256 { return finding(.leave(.changed)) }
        if resource.pin == nil, !isOfSource { return finding(.leave(.otherSource)) }
        let isOtherSize = resource.size.map { $0 != size } ?? false
        let isOtherDigest = declaresSHA256 && !resource.digests.contains(sha256)
        if isOtherSize || isOtherDigest {
            return finding(
                .update(
                    size: isOtherSize || resource.size == nil,
                    sha256: isOtherDigest || !declaresSHA256))
        }
        if declaresSHA256, resource.size != nil { return finding(.keep) }
        return finding(.pin(size: resource.size == nil, sha256: !declaresSHA256))
    }
}

/// What pinning a manifest did, or would do.
package struct PinReport: Sendable {
    /// The root's path.
    package var root: String
    /// The manifest as it was named.
    package var manifest: String
    /// Whether this was a dry run, which writes nothing.
    package var isDryRun: Bool
    /// Whether the manifest was written.
    var isWritten = false
    /// One finding for each selected resource, in the order of the targets.
    package var findings: [PinFinding]

    /// The resources whose declarations contradict their files.
    ///
    /// If there is one, mirror does not change the manifest.
    package var contradictions: [PinFinding] {
        findings.filter { if case .contradiction = $0.outcome { true } else { false } }
    }

    /// The resources that gain declarations, or whose declarations are replaced.
    package var pinned: [PinFinding] {
        findings.filter {
            switch $0.outcome {
            case .pin, .update: true
            case .keep, .leave, .contradiction: false
            }
        }
    }

    /// The resources that lack a declared size or a digest that proves the bytes.
    package var undeclared: [PinFinding] { findings.filter { !$0.isDeclared } }

    /// The resources that pinning leaves as they are, each for a `Reason`.
    package var left: [PinFinding] {
        findings.filter { if case .leave = $0.outcome { true } else { false } }
    }

    /// Writes the report as one JSON document.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("v", 1)
            json.member("root", root)
            json.member("manifest", manifest)
            json.member("dryRun", isDryRun)
            json.member("written", isWritten)
            json.key("steps")
            json.array { json in
                for finding in findings { json.object { finding.writeMembers(to: &$0) } }
            }
            json.key("totals")
            json.object { json in
                json.member("resources", findings.count)
                json.member("pinned", pinned.count)
                json.member("left", left.count)
                json.member("contradictions", contradictions.count)
            }
        }
    }
}

extension PinFinding {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        let (step, reason, because): (String, String?, String?) =
            switch outcome {
            case .pin: ("pin", nil, nil)
            case .update: ("update", nil, nil)
            case .keep: ("keep", nil, nil)
            case .leave(let obstacle): ("leave", obstacle.rawValue, obstacle.because)
            case .contradiction(let because): ("refuse", "contradiction", because)
            }
        json.member("path", target.path)
        json.member("line", line)
        json.member("step", step)
        json.member("reason", reason)
        json.member("because", because)
        json.member("declared", isDeclared)
        json.member("size", size)
        json.member("sha256", sha256?.hex)
    }
}
