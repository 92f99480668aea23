/// A file of Caches that is there, or that a plan would bring, as a quota sees it.
package struct QuotaCandidate: Sendable {
    /// Its size once it is there, in bytes; 0 if unknown.
    package var size: Int64
    /// The resource's priority; 0 where no resource is known.
    package var priority: Int32
    /// The reason to keep or to fetch it.
    package var claim: Claim
    /// When it was last used; for a file that was never there, the time of the plan.
    package var lastUse: Instant
    /// Whether it can be left out: no reader holds it, and nobody changed it.
    package var mayLeave: Bool

    /// The reasons to keep or to fetch a file, the strongest first.
    package enum Claim: Int8, Sendable {
        /// Somebody asked for this very file.
        case asked
        /// A manifest wants it, and it was not evicted before.
        case wanted
        /// A manifest wants it, and it was evicted before: it comes back only where there is room.
        case evicted
        /// No manifest wants it any more.
        case unwanted
    }

    /// Takes the facts.
    package init(
        size: Int64, priority: Int32 = 0, claim: Claim, lastUse: Instant, mayLeave: Bool = true
    ) {
        self.size = size
        self.priority = priority
        self.claim = claim
        self.lastUse = lastUse
        self.mayLeave = mayLeave
    }

    /// Whether it is admitted before another: asked for, then by priority, then by last use.
    fileprivate func isAdmitted(before other: QuotaCandidate) -> Bool {
        if mayLeave != other.mayLeave { return !mayLeave }
        let (extremes, others) = (isExtreme, other.isExtreme)
        if extremes || others, claim != other.claim {
            return claim.rawValue < other.claim.rawValue
        }
        if priority != other.priority { return priority > other.priority }
        if claim != other.claim { return claim.rawValue < other.claim.rawValue }
        return lastUse > other.lastUse
    }

    /// Whether its priority does not matter against files of another claim.
    private var isExtreme: Bool { claim == .asked || claim == .unwanted }
}

/// Decides which files Caches holds under a quota.
///
/// Files are admitted one after the other: first those that cannot leave, then those that were
/// asked for, then by priority, and among equals the most recently used first. A file that does not
/// fit into the rest stays out, and a smaller one after it may fit. Files that were evicted before
/// come after all others of their priority, so that the same manifest does not exchange the same
/// files in every run.
package struct QuotaPolicy: Sendable {
    /// The greatest number of bytes that Caches may hold.
    package var quota: Int64

    /// Takes the quota in bytes.
    package init(quota: Int64) { self.quota = max(quota, 0) }

    /// The positions of the candidates that stay out, ascending.
    ///
    /// Among candidates with equal claims, the first in the list is admitted first.
    package func leftOut(of candidates: some RandomAccessCollection<QuotaCandidate>) -> [Int] {
        let candidates = Array(candidates)
        let total = candidates.reduce(Int64(0)) { $0.addingSaturated($1.size) }
        if total <= quota, total < .max { return [] }
        let ranked = candidates.indices.sorted { first, second in
            let (left, right) = (candidates[first], candidates[second])
            if left.isAdmitted(before: right) { return true }
            return !right.isAdmitted(before: left) && first < second
        }
        var room = quota
        var out: [Int] = []
        for position in ranked {
            let candidate = candidates[position]
            if !candidate.mayLeave || candidate.size <= max(room, 0) {
                room = room.addingSaturated(-candidate.size)
            } else {
                out.append(position)
            }
        }
        return out.sorted()
    }
}

/// A file that was left out of Caches or tmp for room, as the index remembers it.
public struct EvictedFile: Sendable, Hashable {
    /// The target.
    public var target: Target
    /// Its size in bytes, where known.
    public var size: Int64?
    /// When it was last used.
    public var lastUse: Instant

    /// Takes the facts.
    public init(target: Target, size: Int64?, lastUse: Instant) {
        self.target = target
        self.size = size
        self.lastUse = lastUse
    }
}
