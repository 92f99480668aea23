/// The sources of a transfer, and the choice among them: which one is asked next, and when.
///
/// A failing source is left for the next one before any wait. After a wait all sources have a
/// chance again, except those that ended for this run.
struct SourceChoice: ~Copyable, Sendable {
    var states: [SourceState]
    /// The position of the source being asked.
    private(set) var current = 0
    /// Sources that failed since the last wait.
    private var failedInRound: Set<Int> = []
    /// The waits since the transfer last made progress: their number, and their sum in milliseconds.
    private var (retries, waited): (Int, Int64) = (0, 0)
    /// The sources that requests went to before the current one, in order.
    private var left: [Int] = []
    /// The source of the last request; nil before the first.
    private var asked: Int?
    /// Picks a number from 0 to its argument.
    private let jitter: @Sendable (Int64) -> Int64

    /// Takes the sources in the order in which they are tried; there is at least one.
    init(_ sources: [CandidateSource], jitter: @escaping @Sendable (Int64) -> Int64) {
        states = sources.map { SourceState(source: $0) }
        self.jitter = jitter
    }

    /// The key of the source being asked.
    var key: SourceKey { states[current].source.key }

    /// The positions of the sources that have not ended.
    private var live: [Int] { states.indices.filter { states[$0].ending == nil } }

    /// Whether another source than the current one has not ended.
    var hasOthers: Bool { live.contains { $0 != current } }

    /// The sources that requests went to, in order.
    private var tried: [Int] { left + (asked.map { [$0] } ?? []) }

    /// Begins with the source that a version came from.
    mutating func begin(with version: PartIdentity?) {
        guard case .version(let provenance, _) = version,
            let owner = states.firstIndex(where: { $0.source.key == provenance.source })
        else { return }
        current = owner
    }

    /// Notes a request to the current source.
    mutating func noteRequest() {
        if let asked, asked != current { left.append(asked) }
        asked = current
    }

    /// Takes how long the sources' hosts must not be asked, in milliseconds, in the sources' order.
    mutating func know(closedFor: [Int64]) {
        for (position, time) in closedFor.enumerated() { states[position].closedFor = time }
    }

    /// Takes whether the current source was asked without the range that it had refused.
    mutating func endOmission() -> Bool {
        defer { states[current].omitsRange = false }
        return states[current].omitsRange
    }

    /// Counts retries from 0 again, because bytes came.
    mutating func progressed() { (retries, waited) = (0, 0) }

    /// Ends the current source for this run.
    mutating func end(with error: MirrorError) { states[current].ending = error }

    /// Whether a source may be asked for ranges.
    func givesRanges(_ position: Int) -> Bool {
        states[position].ending == nil && states[position].resumes
    }

    /// The other sources that may be asked for ranges over a connection of their own.
    var othersThatGiveRanges: [Int] {
        states.indices.filter {
            $0 != current && givesRanges($0) && states[$0].source.url.scheme != .file
        }
    }

    /// Whether a source could be asked for only the rest of a part.
    func mayResume(
        _ part: PartState, from position: Int, isPinned: Bool, bypassesCaches: Bool
    ) -> Bool {
        guard givesRanges(position) else { return false }
        if isPinned, !bypassesCaches { return true }
        // A download that must be clean continues only under the version's own validator.
        return part.identity != .anonymous && part.validators.strong != nil
            && part.provenances.first?.source == states[position].source.key
    }
}

// MARK: The next source

extension SourceChoice {
    /// Notes a failure of the current source that may pass.
    mutating func fail(with error: MirrorError) {
        states[current].lastFailure = error
        failedInRound.insert(current)
    }

    /// Moves to the next source that did not fail since the last wait and whose host may be asked.
    ///
    /// If there is none, the transfer waits, and then asks the first source whose host may be asked
    /// by then. Nil when all sources have ended, or were tried often enough. Otherwise the wait in
    /// milliseconds, and as which try of all sources the next one counts; nil where it is made at once.
    ///
    /// - Parameters:
    ///   - after: the number of seconds for which the server asks to be left alone.
    ///   - isAtOnce: whether no wait is needed where no other source is left.
    ///   - stays: whether the current source is asked again, at once.
    mutating func moveOn(
        after: Int64? = nil, isAtOnce: Bool = false, stays: Bool = false, _ policy: TransferPolicy
    ) -> (wait: Int64, number: Int?)? {
        if let after { states[current].closedFor = after * 1000 }
        if isAtOnce, nextInRound == nil || stays { failedInRound.remove(current) }
        if let next = stays ? current : nextInRound {
            current = next
            return (0, nil)
        }
        let live = live
        guard retries < policy.retries, !live.isEmpty else { return nil }
        retries += 1
        let backOff = policy.wait(beforeRetry: retries, waited: waited, jitter: jitter)
        waited += backOff
        let wait = max(backOff, live.map { states[$0].closedFor }.min() ?? 0)
        let open = live.filter { states[$0].closedFor <= wait }
        // A source whose host was left alone so far had no chance yet.
        current = open.first { !failedInRound.contains($0) } ?? open.first ?? current
        failedInRound = []
        return (wait, retries + 1)
    }

    /// The first source that may be asked at once.
    private var nextInRound: Int? { firstOpen { _ in true } }

    private func firstOpen(where isWanted: (Int) -> Bool) -> Int? {
        states.indices.first {
            isWanted($0) && states[$0].ending == nil && !failedInRound.contains($0)
                && states[$0].closedFor == 0
        }
    }

    /// Moves to another source, because the host of the current one does not answer; returns
    /// whether there is one.
    mutating func moveElsewhere() -> Bool {
        let current = current
        guard let next = firstOpen(where: { $0 != current }) else { return false }
        failedInRound.insert(current)
        self.current = next
        return true
    }

    /// Leaves the current source, because its host is not asked for `wait` milliseconds.
    ///
    /// Returns nil if another source may be asked now, and otherwise the milliseconds until the
    /// chosen one may be asked.
    mutating func leave(with error: MirrorError, closedFor wait: Int64) -> Int64? {
        fail(with: error)
        states[current].closedFor = max(1, wait)
        if moveElsewhere() { return nil }
        // No host may be asked now. A source that was not tried since the last wait comes first,
        // even on the same host.
        let live = live
        let untried = live.filter { !failedInRound.contains($0) }
        if untried.isEmpty { failedInRound = [] }
        let next = (untried.isEmpty ? live : untried).min {
            states[$0].closedFor < states[$1].closedFor
        }
        current = next ?? current
        return states[current].closedFor
    }
}

// MARK: Errors

extension SourceChoice {
    /// The error of a refusal, with its source, and without advice.
    func error(_ refusal: ResponseError, of target: Target, attempts: Int, isRetryable: Bool? = nil)
        -> MirrorError
    {
        let source = states[current].source.url.description
        var error = MirrorError(
            refusal.code, "\(target): \(refusal.cause) (from \(source)).", target: target)
        error.source = source
        error.status = refusal.status
        error.attempts = attempts
        error.expected = refusal.expected
        error.actual = refusal.actual
        let mayHeal =
            refusal.code == .httpStatus ? refusal.status.map(StatusCode.mayHeal) : nil
        error.isRetryable = isRetryable ?? mayHeal ?? (refusal.mayHeal || error.isRetryable)
        return error
    }

    /// The one error that stands for all sources.
    ///
    /// It is one that may heal, otherwise a wrong digest, otherwise the last.
    func finalError(_ last: MirrorError, attempts: Int) -> MirrorError {
        let errors = states.compactMap { $0.ending ?? $0.lastFailure }
        var error =
            errors.first { $0.isRetryable } ?? errors.first { $0.code == .digestMismatch } ?? last
        error.attempts = attempts
        error.tried = tried.reduce(into: [Int]()) { if !$0.contains($1) { $0.append($1) } }
            .map { states[$0].source.url.description }
        error.message += nextStep(error)
        return error
    }

    /// The advice at the end of the sentence: it holds for every program, so it is no `Remedy`.
    private func nextStep(_ error: MirrorError) -> String {
        let count = Set(tried).count
        let scope = count > 1 ? " None of \(count) sources gave the file." : ""
        if error.isRetryable { return scope + " Run again later." }
        switch error.code {
        case .digestMismatch, .sizeMismatch:
            return scope + " The bytes were dropped; correct the manifest if the file is right."
        case .httpStatus: return scope + (error.status.map(StatusCode.advice) ?? "")
        case .redirectRefused:
            return scope + " Ask the server's owner, or name the address of the file itself."
        case .tooManyRedirects:
            return scope
                + " The redirects may lead in a circle; open the URL in a browser to see where they end."
        case .encodingRefused:
            return scope
                + " Declare the sha256 of the bytes as they are sent, and they are kept as they are."
        case .typeMismatch:
            return scope + " Declare the type if the file is right."
        case .tooLarge: return scope + " Raise the limit, or declare the size."
        default: return scope
        }
    }
}

/// How long to wait before trying again: exponential back-off with full jitter, from 0.5 s to 30 s.
///
/// Jitter alone may draw only short waits, and retries that end after five seconds do not outlive a
/// server that restarts. So the last wait makes up for the shortfall of the ones before it: the seven
/// retries of the default take at least 22 s, and 31 s on average.
extension TransferPolicy {
    /// The ceiling of the first wait in milliseconds; each further one is twice as high.
    static let firstCeiling: Int64 = 500
    /// The highest ceiling in milliseconds.
    static let highestCeiling: Int64 = 30_000
    /// The least sum of all waits, as a share of its average.
    static let leastShare = 0.72

    /// The wait in milliseconds before a retry, counted from 1.
    ///
    /// - Parameters:
    ///   - waited: the sum of the waits so far, in milliseconds.
    ///   - jitter: picks a number from 0 to its argument, evenly.
    package func wait(
        beforeRetry retry: Int, waited: Int64 = 0, jitter: (Int64) -> Int64
    ) -> Int64 {
        let drawn = jitter(ceiling(of: retry))
        guard retry == retries else { return drawn }
        return min(max(drawn, leastTotal - waited), longestMilliseconds)
    }

    /// The longest wait that may be drawn for a retry, counted from 1, in milliseconds.
    private func ceiling(of retry: Int) -> Int64 {
        let exponent = min(max(retry, 1) - 1, 20)
        let doubled = min(Self.firstCeiling << Int64(exponent), Self.highestCeiling)
        return min(doubled, longestMilliseconds)
    }

    private var longestMilliseconds: Int64 {
        let (milliseconds, overflow) = longestWait.multipliedReportingOverflow(by: 1000)
        return overflow ? .max : max(0, milliseconds)
    }

    /// The least sum of all waits, in milliseconds.
    ///
    /// More retries than the default take long enough by themselves.
    private var leastTotal: Int64 {
        guard (1...10).contains(retries) else { return 0 }
        let ceilings = (1...retries).reduce(into: Int64(0)) { $0 += ceiling(of: $1) }
        return Int64(Double(ceilings) / 2 * TransferPolicy.leastShare)
    }
}
