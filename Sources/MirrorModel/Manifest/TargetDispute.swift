/// Why two manifests cannot share a target: they declare different bytes for it.
package enum TargetDifference: Sendable, Hashable {
    /// Their digests differ.
    case digests(Digest, Digest)
    /// Their digests are of different algorithms, and nothing says that they are of the same bytes.
    case incomparable(Digest, Digest)
    /// One of them, or both, declare no digest that proves the bytes.
    case unpinned
    /// Only one wants the file to be executable.
    case mode

    /// Compares the declarations of two manifests about one target; nil if both can own it.
    ///
    /// - Parameter record: the index's row of the target. If it has digests of two algorithms, it
    ///   shows whether a declared digest of each is of the same bytes.
    package static func between(
        _ first: Resource, _ second: Resource, record: IndexRecord? = nil
    ) -> TargetDifference? {
        guard let firstPin = first.pin, let secondPin = second.pin else { return .unpinned }
        guard first.isExecutable == second.isExecutable else { return .mode }
        let strong = first.digests.filter(\.algorithm.isStrong)
        var haveCommon = false
        for mine in strong {
            guard let other = second.digests.first(where: { $0.algorithm == mine.algorithm })
            else { continue }
            if other != mine { return .digests(mine, other) }
            haveCommon = true
        }
        if haveCommon { return nil }
        let isOne =
            record.map { record in
                [first, second].allSatisfy { $0.digests.contains(where: record.isProven) }
            } ?? false
        return isOne ? nil : .incomparable(firstPin, secondPin)
    }

    /// A sentence's middle, for people.
    package var because: String {
        switch self {
        case .digests(let first, let second):
            "one says \(first.brief), the other \(second.brief)"
        case .incomparable(let first, let second):
            "one gives \(first.brief), the other \(second.brief): give both the same algorithm"
        case .unpinned: "both must pin it to the same digest, and at least one does not pin it"
        case .mode: "only one wants it to be executable"
        }
    }
}

/// A target that two manifests want, each in its own way.
package struct TargetDispute: Sendable, Hashable {
    /// The target.
    package var target: Target
    /// The manifest that was given.
    package var given: Claim
    /// The other one.
    package var other: Claim
    /// The difference between their declarations.
    package var difference: TargetDifference
    /// Whether both manifests are of the run; a takeover would then not say which one is meant.
    package var areBothGiven: Bool

    /// Where a manifest names a target.
    package struct Claim: Sendable, Hashable {
        /// The manifest's name.
        package var name: String
        /// The file, as people know it.
        package var file: String
        /// The line from 1; 0 where there are no lines.
        package var line: Int
        /// The column from 1; 0 where there are none.
        package var column: Int

        /// Takes where a manifest names a target.
        package init(name: String, file: String, line: Int, column: Int) {
            self.name = name
            self.file = file
            self.line = line
            self.column = column
        }

        /// `file:line`.
        package var place: String { line > 0 ? "\(file):\(line)" : file }
    }

    /// Takes the two sides.
    package init(
        target: Target, given: Claim, other: Claim, difference: TargetDifference,
        areBothGiven: Bool
    ) {
        self.target = target
        self.given = given
        self.other = other
        self.difference = difference
        self.areBothGiven = areBothGiven
    }

    /// The error at the given manifest's line.
    package var sentence: String {
        "\(target) of \(given.name) is also the target of \(other.name) (\(other.place)), and "
            + "\(difference.because). Name it in one of them."
    }

    /// The remedy; nil if both manifests are part of the run.
    package var remedy: Remedy? { areBothGiven ? nil : Remedy(.takeOver, given.name) }
}
