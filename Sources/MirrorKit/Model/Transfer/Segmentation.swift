/// Which bytes of a file are in hand, and which connection fetches each missing range.
///
/// Each connection has an assignment: a range that the connection fills from start to end. The
/// front is the end of the bytes in hand from the file's start. The first assignment continues at
/// the front, so it meets the others one after another. Until then, the bytes of the others are
/// ranges beyond the front. No byte belongs to two assignments, and a byte in hand belongs to no
/// assignment:
///
///     held    ████████████████            ██████                ███
///     assignments                    ──first──▶       ───second──▶        ──third──▶
///     file   0                           ▲                                   total
///                                        └ where the first one stops
///
/// A connection without a range takes the first unclaimed bytes, as many as arrive in a few
/// seconds. So the front advances steadily, and the digest of the file with it. When no unclaimed
/// bytes are left, the connection takes over the rest of an assignment that lags behind. If none
/// lags, it takes a later portion of the assignment that would take longest. An assignment that
/// loses the end of its range is cut at the new end, because its response would continue.
struct Segmentation: Sendable {
    /// The range that one connection fetches, and how far it has come.
    struct Assignment: Sendable, Hashable {
        /// The number of the assignment, unique in the transfer.
        let id: Int
        /// The position of the source among the transfer's sources.
        let source: Int
        /// The position of the range's first byte.
        let start: Int64
        /// The position of the next byte to receive.
        fileprivate(set) var position: Int64
        /// The position after the last byte that the connection fetches.
        fileprivate(set) var end: Int64
        /// The position after the last requested byte, where the response ends by itself.
        let askedEnd: Int64
        /// Bytes a second, smoothed; 0 if not known.
        fileprivate(set) var rate: Double = 0
        /// For how many milliseconds the rate has been measured.
        fileprivate(set) var age: Int64 = 0
        fileprivate var measuredAt: Int64

        /// Whether the assignment has all its bytes.
        var isDone: Bool { position == end }
        /// Whether the response continues beyond the end of the assignment.
        var isCut: Bool { end < askedEnd }
        /// How many bytes the assignment still has to fetch.
        var rest: Int64 { end - position }
    }

    /// The size of the file.
    let total: Int64
    /// The smallest range, in bytes, that is worth a request.
    let leastRange: Int64
    /// The ranges in hand: ascending, and no two touch.
    private(set) var held: [Range<Int64>] = []
    /// The assignments by their numbers.
    private(set) var assignments: [Int: Assignment] = [:]
    /// The time that a server takes to answer, in seconds; 0 if not known.
    var answerSeconds = 0.0
    private var made = 0
    /// The average rate of a connection, in bytes a second, smoothed; nil if not known.
    private var usualRate: Double?
    /// The greatest rate of any connection so far, in bytes a second.
    private var greatestRate: Double = 0
    private var arrivedSince: Int64 = 0
    /// How often an assignment lost all its missing bytes to another one.
    private var takeovers = 0
    /// The sources that have brought bytes.
    private var bringing: Set<Int> = []
    /// Sources that brought nothing until others had fetched everything else.
    private(set) var silentSources: Set<Int> = []

    /// Begins with the bytes from the start up to `front`, and with the ranges beyond it.
    ///
    /// Bytes outside the file are left out.
    init(
        total: Int64, front: Int64 = 0, rangesBeyond: [Range<Int64>] = [],
        leastRange: Int64 = 1 << 20
    ) {
        self.total = total
        self.leastRange = max(1, leastRange)
        for range in [0..<max(0, front)] + rangesBeyond { hold(range.clamped(to: 0..<total)) }
    }

    /// How many bytes from the file's start are in hand.
    var front: Int64 {
        guard let first = held.first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }

    /// How many bytes of the file are in hand, beyond the front too.
    var heldBytes: Int64 { held.reduce(0) { $0 + Int64($1.count) } }

    /// How many bytes of the file are missing.
    var missingBytes: Int64 { total - heldBytes }

    /// Whether no byte of the file is missing.
    var isComplete: Bool { front == total }

    /// Whether bytes beyond the front are in hand.
    var hasRangesBeyond: Bool { heldBytes > front }

    /// The end of the gap at the front: the next range in hand, an assignment, or the file's end.
    var gapEnd: Int64 {
        let front = front
        let starts = held.lazy.map(\.lowerBound) + assignments.values.map(\.position)
        return starts.filter { $0 > front }.min() ?? total
    }

    /// Begins the assignment at the front. Its response ends at `askedEnd`.
    mutating func begin(source: Int, askedEnd: Int64) -> Assignment {
        add(source: source, front..<min(gapEnd, askedEnd), askedEnd: min(askedEnd, total))
    }

    /// Finds a range for one more connection. Returns nil if no range is worth a request.
    ///
    /// - Parameter more: how many further connections begin right after this one.
    mutating func open(source: Int, more: Int = 0) -> Assignment? {
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

    /// Gives a working source the whole range of a source that has brought nothing so far.
    ///
    /// Everything else is in hand or being fetched. So one answer of the working source costs less
    /// than the wait for the silent source's first answer. Returns nil if no range can move.
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

    /// Extends a finished assignment over the next one, if that one lags and has brought nothing.
    ///
    /// Returns whether the assignment was extended.
    mutating func passOver(_ id: Int) -> Bool {
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

    /// Of the assignments that lag behind, the one that would take longest; nil if none lags.
    private var nextLaggard: Assignment? {
        guard takeovers < Segmentation.mostTakeovers else { return nil }
        return assignments.values.filter(lags).max {
            (secondsLeft($0), $1.id) < (secondsLeft($1), $0.id)
        }
    }

    /// Whether the fastest connection would fetch the rest in less than half the assignment's time.
    private func lags(_ assignment: Assignment) -> Bool {
        guard !assignment.isDone, assignment.age >= Segmentation.fairTrial else { return false }
        // The file may be done before the first measurement, except for what this assignment lacks.
        if assignment.rate == 0 { return !bringing.isEmpty }
        let rest = Double(assignment.rest)
        return greatestRate > 0 && rest / assignment.rate > 2 * rest / greatestRate + 0.25
    }

    /// Whether an assignment is so slow that its source is no help.
    ///
    /// Its rate is below an eighth of the greatest rate.
    func isHopeless(_ id: Int) -> Bool {
        guard let assignment = assignments[id], !assignment.isDone,
            assignment.age >= 2 * Segmentation.fairTrial
        else {
            return false
        }
        return greatestRate > 0 && assignment.rate * 8 < greatestRate
    }

    /// Whether an assignment has received no bytes yet.
    func isSilent(_ id: Int) -> Bool {
        assignments[id].map { $0.position == $0.start } ?? false
    }

    /// How long an assignment is measured before it can count as lagging, in milliseconds.
    static let fairTrial: Int64 = 500
    /// How often the whole rest of an assignment may be taken over.
    ///
    /// If every connection stands still, repeated requests bring nothing.
    static let mostTakeovers = 8

    /// How many bytes a connection takes at once: as many as arrive in a few seconds.
    ///
    /// Near the end a connection takes fewer, so that all connections end together. Between two
    /// pieces a connection brings nothing for a round trip. So a piece keeps it busy for several
    /// round trips.
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

    /// Whether an answer takes so long that a piece should be large.
    private var isFar: Bool { answerSeconds * 1000 >= Double(SegmentPace.measuring) }

    /// For how many seconds a piece keeps a connection busy.
    static let pieceSeconds = 2.0
    /// A piece keeps a connection busy for this many times the time of an answer.
    static let answersInPiece = 4.0

    private func prefix(of range: Range<Int64>, _ length: Int64) -> Range<Int64> {
        // The remainder must be worth a request too.
        guard Int64(range.count) >= length + leastRange else { return range }
        return range.lowerBound..<cut(after: range.lowerBound, length)
    }

    /// Returns where a piece ends: at a multiple of 64 KiB if possible.
    ///
    /// Such an end is a page boundary, so each page of the file has one writer.
    private func cut(after start: Int64, _ length: Int64) -> Int64 {
        let aligned = (start + length) & ~0xFFFF
        return aligned - start >= leastRange ? aligned : start + length
    }

    /// Adds bytes that came for an assignment. Returns how many of them belong to it.
    mutating func arrived(_ count: Int, on id: Int) -> Int {
        guard let assignment = assignments[id] else { return 0 }
        let taken = min(Int64(count), assignment.rest)
        if taken > 0 { bringing.insert(assignment.source) }
        hold(assignment.position..<assignment.position + taken)
        assignments[id]?.position += taken
        arrivedSince += taken
        return Int(taken)
    }

    /// Ends an assignment. The bytes that it did not fetch are unclaimed again.
    ///
    /// An assignment whose response extends over the bytes gets them first.
    mutating func end(_ id: Int) {
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

    /// Measures the rate of each assignment over the milliseconds since the last measurement.
    mutating func measure(milliseconds: Int64) {
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

    /// The ranges that are neither in hand nor in an assignment, ascending.
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

    /// An assignment that would take less time than this, in seconds, keeps its whole range.
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
            // The usual case, once for each buffer that arrives: a range in hand grows.
            held[first] = merged
        } else {
            held.replaceSubrange(first..<last, with: [merged])
        }
    }
}

extension Segmentation {
    /// Returns the failure of a response that ended before the promised offset.
    ///
    /// Returns nil if the bytes are in hand, or if another assignment fetches them.
    func shortfall(of id: Int, before promisedEnd: Int64?) -> TransportFailure? {
        guard let promisedEnd, let assignment = assignments[id],
            assignment.position < min(promisedEnd, assignment.end)
        else { return nil }
        return .cutShort(at: assignment.position, of: promisedEnd)
    }
}
