/// How the files that are there divide: by area, by freshness, and by what vouches for them.
public struct FileShares: Sendable, Hashable {
    /// A number of files and their bytes.
    public struct Share: Sendable, Hashable {
        /// How many.
        public var files = 0
        /// Their bytes.
        public var bytes: Int64 = 0

        /// Counts a file.
        mutating func add(_ size: Int64) {
            files += 1
            bytes = bytes.addingSaturated(size)
        }
    }

    /// How fresh files are, the freshest first.
    public enum Age: String, Sendable, Hashable, CaseIterable {
        /// No server needs to be asked: pinned, or never refreshed.
        case settled
        /// Fresh until a known time.
        case fresh
        /// The next sync asks about it.
        case due
        /// No manifest at hand wants it, so nobody says.
        case unjudged
    }

    /// By area.
    public private(set) var areas: [Area: Share] = [:]
    /// By freshness.
    public private(set) var ages: [Age: Share] = [:]
    /// By what vouches for the bytes that mirror put there.
    public private(set) var proofs: [Verification: Share] = [:]
    /// When the next file ceases to be fresh; nil where none does at a known time.
    public private(set) var nextDue: Instant?
    /// When the file was confirmed whose source was asked longest ago, among those that are asked.
    public private(set) var oldestConfirmation: Instant?

    /// Nothing counted.
    public init() {}

    /// Counts a file; one that is not there, and a conflict copy, belong to no share.
    public mutating func add(_ file: StoredFile) {
        guard let size = file.size, file.state != .conflict else { return }
        areas[file.target.area, default: Share()].add(size)
        if let proof = file.verified { proofs[proof, default: Share()].add(size) }
        ages[Age(file.freshness), default: Share()].add(size)
        switch file.freshness {
        case .fresh(let until?):
            nextDue = min(nextDue ?? until, until)
            note(file.confirmedAt)
        case .due: note(file.confirmedAt)
        case .fresh(nil), nil: break
        }
    }

    private mutating func note(_ confirmed: Instant?) {
        guard let confirmed else { return }
        oldestConfirmation = min(oldestConfirmation ?? confirmed, confirmed)
    }
}

extension FileShares.Age {
    fileprivate init(_ freshness: Freshness?) {
        self =
            switch freshness {
            case .fresh(nil): .settled
            case .fresh: .fresh
            case .due: .due
            case nil: .unjudged
            }
    }
}
