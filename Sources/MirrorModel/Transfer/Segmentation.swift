/// Which bytes of a file are in hand, and which connection fetches each missing range.
///
/// Each connection has an assignment: a range that it fills from the start to the end. The first
/// assignment continues where the bytes from the file's start end, so it meets the others one after
/// another. Until then, the bytes that the others fetched are ranges beyond the front. No byte
/// belongs to two assignments, and a byte in hand belongs to none:
///
///     held    ████████████████            ██████                ███
///     assignments                    ──first──▶       ───second──▶        ──third──▶
///     file   0                           ▲                                   total
///                                        └ where the first one stops
///
/// A connection without a range takes the first unclaimed bytes, as many as arrive in a few
/// seconds. So the front advances steadily, and the digest of the file with it. When no unclaimed
/// bytes are left, the connection takes over the rest of an assignment that lags behind, or a later
/// portion of the assignment that would take longest. An assignment that loses the end of its range
/// is cut at the new end, because its response would continue.
package struct Segmentation: Sendable {
    /// One connection's range.
    package struct Assignment: Sendable, Hashable {
        /// Unique in the transfer.
        package let id: Int
        /// The position of the source among the transfer's sources.
        package let source: Int
        /// The first byte.
        package let start: Int64
        /// The next byte.
        package fileprivate(set) var position: Int64
        /// The position after the last byte that it fetches.
        package fileprivate(set) var end: Int64
        /// The position after the last requested byte, where the response ends by itself.
        package let askedEnd: Int64
        /// Bytes a second, smoothed; 0 while it is not known.
        package fileprivate(set) var rate: Double = 0
        /// For how many milliseconds the rate was measured.
        package fileprivate(set) var age: Int64 = 0
        fileprivate var measuredAt: Int64

        /// Whether it has all its bytes.
        package var isDone: Bool { position == end }
        /// Whether its response continues beyond its end.
        package var isCut: Bool { end < askedEnd }
        /// Bytes that it still has to fetch.
        package var rest: Int64 { end - position }
    }

    /// The size of the file.
    package let total: Int64
    /// The fewest bytes that are worth a request.
    package let leastRange: Int64
    /// The ranges in hand: ascending, and no two touch.
    package private(set) var held: [Range<Int64>] = []
    /// The assignments by their numbers.
    package private(set) var assignments: [Int: Assignment] = [:]
    /// The time that a server takes to answer, in seconds; 0 while it is not known.
    package var answerSeconds = 0.0
    private var made = 0
    /// Bytes a second of a connection, smoothed over all of them; nil while unknown.
    private var usualRate: Double?
    /// The greatest rate of a connection so far, in bytes a second.
    private var greatestRate: Double = 0
    private var arrivedSince: Int64 = 0
    /// How often an assignment lost all its missing bytes to another one.
    private var takeovers = 0
    /// The sources that have brought bytes.
    private var bringing: Set<Int> = []
    /// Sources that brought nothing until others had fetched everything else.
    package private(set) var silentSources: Set<Int> = []

    /// Begins with the bytes from the start up to `front`, and with the ranges beyond it.
    ///
    /// Bytes outside the file are left out.
    package init(
        total: Int64, front: Int64 = 0, rangesBeyond: [Range<Int64>] = [],
        leastRange: Int64 = 1 << 20
    ) {
        self.total = total
        self.leastRange = max(1, leastRange)
        for range in [0..<max(0, front)] + rangesBeyond { hold(range.clamped(to: 0..<total)) }
    }

    /// How many bytes from the start are in hand.
    package var front: Int64 {
        guard let first = held.first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }

    /// How many bytes are in hand.
    package var heldBytes: Int64 { held.reduce(0) { $0 + Int64($1.count) } }

    /// How many bytes are missing.
    package var missingBytes: Int64 { total - heldBytes }

    /// Whether nothing is missing.
    package var isComplete: Bool { front == total }

    /// Whether bytes beyond the front are in hand.
    package var hasRangesBeyond: Bool { heldBytes > front }

    /// The end of the gap at the front: the next range in hand, an assignment, or the file's end.
    package var gapEnd: Int64 {
        let front = front
        let starts = held.lazy.map(\.lowerBound) + assignments.values.map(\.position)
        return starts.filter { $0 > front }.min() ?? total
    }

    /// Begins the assignment at the front, whose response ends at `askedEnd`.
    package mutating func begin(source: Int, askedEnd: Int64) -> Assignment {
        add(source: source, front..<min(gapEnd, askedEnd), askedEnd: min(askedEnd, total))
    }

    /// Finds a range for one more connection; nil when no range is worth a request.
    ///
    /// - Parameter more: how many connections begin right after this one.
    package mutating func open(source: Int, more: Int = 0) -> Assignment? {
        let piece = piece(connections: assignments.count + 1 + more)
        if let gap = unclaimed.first {
            return add(source: source, prefix(of: gap, piece), askedEnd: nil)
        }
        if let laggard = nextLaggard {
            takeovers += 1
            assignments[laggard.id] = nil
            return add(source: source, laggard.position..<laggard.end, askedEnd: nil)
        }
        let victims = assignments.values.filter(canSpare)
        guard let victim = victims.max(by: { (secondsLeft($0), $1.id) < (secondsLeft($1), $0.id) })
        else { return openInPlaceOfSilent(source) }
        let kept = victim.rest > 2 * piece ? piece : victim.rest - victim.rest / 2
        let rest = cut(after: victim.position, kept)..<victim.end
        assignments[victim.id]?.end = rest.lowerBound
        return add(source: source, prefix(of: rest, piece), askedEnd: nil)
    }

    /// Takes over the whole range of a source that has brought nothing so far, for one that has.
    ///
    /// Everything else is fetched or being fetched, so one answer of the other source costs less
    /// than the wait for the first answer of the silent one.
    private mutating func openInPlaceOfSilent(_ source: Int) -> Assignment? {
        guard bringing.contains(source), takeovers < Segmentation.mostTakeovers,
            let silent = assignments.values.filter({ !bringing.contains($0.source) })
                .min(by: { $0.id < $1.id })
        else { return nil }
        takeovers += 1
        silentSources.insert(silent.source)
        assignments[silent.id] = nil
        return add(source: source, silent.position..<silent.end, askedEnd: nil)
    }

    /// Extends a finished assignment over a lagging one that stops it and has brought nothing.
    ///
    /// Returns whether it did.
    package mutating func passOver(_ id: Int) -> Bool {
        guard let assignment = assignments[id], assignment.isDone, assignment.isCut,
            takeovers < Segmentation.mostTakeovers,
            let next = assignments.values.first(where: {
                $0.position == assignment.end && $0.start == assignment.end
            }),
            lags(next)
        else { return false }
        takeovers += 1
        assignments[next.id] = nil
        assignments[id]?.end = min(assignment.askedEnd, next.end)
        return true
    }

    /// Of the assignments that lag behind, the one that would take longest.
    private var nextLaggard: Assignment? {
        guard takeovers < Segmentation.mostTakeovers else { return nil }
        return assignments.values.filter(lags).max {
            (secondsLeft($0), $1.id) < (secondsLeft($1), $0.id)
        }
    }

    /// Whether the fastest connection would fetch the rest in less than half the time.
    private func lags(_ assignment: Assignment) -> Bool {
        guard !assignment.isDone, assignment.age >= Segmentation.fairTrial else { return false }
        // A file may be fetched before the first measurement, but for what this one has not brought.
        if assignment.rate == 0 { return !bringing.isEmpty }
        let rest = Double(assignment.rest)
        return greatestRate > 0 && rest / assignment.rate > 2 * rest / greatestRate + 0.25
    }

    /// Whether an assignment is so much slower than the fastest that its source is no help.
    package func isHopeless(_ id: Int) -> Bool {
        guard let assignment = assignments[id], !assignment.isDone,
            assignment.age >= 2 * Segmentation.fairTrial
        else {
            return false
        }
        return greatestRate > 0 && assignment.rate * 8 < greatestRate
    }

    /// Whether an assignment has brought nothing yet.
    package func isSilent(_ id: Int) -> Bool {
        assignments[id].map { $0.position == $0.start } ?? false
    }

    /// How long an assignment is measured before it can count as lagging, in milliseconds.
    static let fairTrial: Int64 = 500
    /// How often the whole rest of an assignment may be taken over.
    ///
    /// Where every connection stands still, repeated requests bring nothing.
    static let mostTakeovers = 8

    /// How many bytes a connection takes at once: as many as arrive in a few seconds.
    ///
    /// Towards the end it takes fewer, so that all connections end together. But between two pieces
    /// its connection brings nothing for a round trip, so a piece lasts for several.
    private func piece(connections: Int) -> Int64 {
        let even = missingBytes / Int64(max(1, connections))
        var most = (isFar ? 8 : 4) * leastRange
        var busy = isFar ? even : 0
        if let usualRate {
            most = Int64(usualRate * Segmentation.pieceSeconds)
            busy = Int64(usualRate * answerSeconds * Segmentation.answersInPiece)
        }
        return max(leastRange, min(most, max(even / 2, min(even, busy))))
    }

    /// Whether an answer takes so long that a piece should rather be large.
    private var isFar: Bool { answerSeconds * 1000 >= Double(SegmentPace.measuring) }

    /// For how long a piece keeps a connection busy.
    static let pieceSeconds = 2.0
    /// For how many times the time of an answer a piece keeps a connection busy.
    static let answersInPiece = 4.0

    private func prefix(of range: Range<Int64>, _ length: Int64) -> Range<Int64> {
        // The remainder must be worth a request too.
        guard Int64(range.count) >= length + leastRange else { return range }
        return range.lowerBound..<cut(after: range.lowerBound, length)
    }

    /// Where a piece ends: at a page boundary where possible, so that each page has one writer.
    private func cut(after start: Int64, _ length: Int64) -> Int64 {
        let aligned = (start + length) & ~0xFFFF
        return aligned - start >= leastRange ? aligned : start + length
    }

    /// Adds bytes that came for an assignment; returns how many of them belong to it.
    package mutating func arrived(_ count: Int, on id: Int) -> Int {
        guard let assignment = assignments[id] else { return 0 }
        let taken = min(Int64(count), assignment.rest)
        if taken > 0 { bringing.insert(assignment.source) }
        hold(assignment.position..<assignment.position + taken)
        assignments[id]?.position += taken
        arrivedSince += taken
        return Int(taken)
    }

    /// Ends an assignment, and makes the bytes that it did not fetch available again.
    ///
    /// If the response of the assignment before it extends over these bytes, that assignment takes
    /// them first.
    package mutating func end(_ id: Int) {
        guard let assignment = assignments.removeValue(forKey: id), !assignment.isDone else {
            return
        }
        for before in assignments.values where before.isCut && !before.isDone {
            guard let gap = unclaimed.first(where: { $0.lowerBound == before.end }) else {
                continue
            }
            assignments[before.id]?.end = min(before.askedEnd, gap.upperBound)
        }
    }

    /// Measures the assignments' rates over the milliseconds since the last measurement.
    package mutating func measure(milliseconds: Int64) {
        guard milliseconds > 0 else { return }
        if arrivedSince > 0, !assignments.isEmpty {
            let rate =
                Double(arrivedSince) * 1000 / Double(milliseconds) / Double(assignments.count)
            usualRate = usualRate.map { $0 * 0.6 + rate * 0.4 } ?? rate
            arrivedSince = 0
        }
        for assignment in assignments.values {
            let rate =
                Double(assignment.position - assignment.measuredAt) * 1000 / Double(milliseconds)
            let smooth = assignment.rate == 0 ? rate : assignment.rate * 0.6 + rate * 0.4
            assignments[assignment.id]?.rate = smooth
            assignments[assignment.id]?.measuredAt = assignment.position
            assignments[assignment.id]?.age += milliseconds
            greatestRate = max(greatestRate, smooth)
        }
    }

    /// The ranges that are neither in hand nor assigned, ascending.
    private var unclaimed: [Range<Int64>] {
        let claims = assignments.values.map { $0.position..<$0.end }
        var gaps: [Range<Int64>] = []
        var at: Int64 = 0
        for range in (held + claims).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > at { gaps.append(at..<range.lowerBound) }
            at = max(at, range.upperBound)
        }
        if at < total { gaps.append(at..<total) }
        return gaps
    }

    private func secondsLeft(_ assignment: Assignment) -> Double {
        Double(assignment.rest) / max(assignment.rate > 0 ? assignment.rate : usualRate ?? 1, 1)
    }

    /// Whether half of an assignment's rest is worth a request, in bytes and in time.
    private func canSpare(_ assignment: Assignment) -> Bool {
        assignment.rest >= 2 * leastRange
            && (assignment.rate == 0
                || Double(assignment.rest) / assignment.rate >= Segmentation.leastSeconds)
    }

    /// The least time that an assignment must still take before a part is taken over, in seconds.
    static let leastSeconds = 0.5

    private mutating func add(source: Int, _ range: Range<Int64>, askedEnd: Int64?) -> Assignment {
        let assignment = Assignment(
            id: made, source: source, start: range.lowerBound, position: range.lowerBound,
            end: range.upperBound, askedEnd: askedEnd ?? range.upperBound,
            measuredAt: range.lowerBound)
        made += 1
        assignments[assignment.id] = assignment
        return assignment
    }

    private mutating func hold(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        let first = held.firstIndex { $0.upperBound >= range.lowerBound } ?? held.endIndex
        var (last, merged) = (first, range)
        while last < held.endIndex, held[last].lowerBound <= range.upperBound {
            merged =
                min(
                    merged.lowerBound, held[last].lowerBound)..<max(
                    merged.upperBound, held[last].upperBound)
            last += 1
        }
        if last == first + 1 {
            // The usual case, once for each buffer that arrives: an assignment grows.
            held[first] = merged
        } else {
            held.replaceSubrange(first..<last, with: [merged])
        }
    }
}

extension Segmentation {
    /// What it means that the response of a connection has ended, which promised the bytes before an
    /// offset; nil where they are there, or are fetched by others.
    func shortfall(of id: Int, before promisedEnd: Int64?) -> TransportFailure? {
        guard let promisedEnd, let assignment = assignments[id],
            assignment.position < min(promisedEnd, assignment.end)
        else { return nil }
        return .cutShort(at: assignment.position, of: promisedEnd)
    }
}
