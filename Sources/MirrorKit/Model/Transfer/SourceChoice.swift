/// The sources of a transfer, and the choice of the one to ask next, and when.
///
/// A failing source makes way for the next one before any wait. After a wait all sources have a
/// chance again, except those that ended for this run.
struct SourceChoice: ~Copyable, Sendable {
    var states: [SourceState]
    /// The position of the source that requests go to.
    private(set) var current = 0
    /// The positions of the sources that failed since the last wait.
    private var failedInRound: Set<Int> = []
    /// The waits since the last progress: `retries` counts them; `waited` sums their milliseconds.
    private var (retries, waited): (Int, Int64) = (0, 0)
    /// The positions of the sources that requests went to before the current one, in order.
    private var left: [Int] = []
    /// The position of the source of the last request; nil before the first request.
    private var asked: Int?
    /// Picks a number from 0 to its argument.
    private let jitter: @Sendable (Int64) -> Int64

    /// Takes the sources in the order in which they are tried; at least one.
    init(_ sources: [CandidateSource], jitter: @escaping @Sendable (Int64) -> Int64) {
        states = sources.map { SourceState(source: $0) }
        self.jitter = jitter
    }

    /// The key of the current source.
    var key: SourceKey { states[current].source.key }

    /// The positions of the sources that have not ended.
    private var live: [Int] { states.indices.filter { states[$0].ending == nil } }

    /// Whether a source other than the current one has not ended.
    var hasOthers: Bool { live.contains { $0 != current } }

    /// The positions of the sources that requests went to, in order.
    private var tried: [Int] { left + (asked.map { [$0] } ?? []) }

    /// Begins with the source that the part's version came from.
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

    /// Notes for how many milliseconds each source's host must not be asked, in the sources' order.
    mutating func know(closedFor: [Int64]) {
        for (position, time) in closedFor.enumerated() { states[position].closedFor = time }
    }

    /// Returns whether the last request left out a refused range, and ends the omission.
    mutating func endOmission() -> Bool {
        defer { states[current].omitsRange = false }
        return states[current].omitsRange
    }

    /// Counts retries from 0 again, because enough bytes came.
    mutating func progressed() { (retries, waited) = (0, 0) }

    /// Ends the current source for this run.
    mutating func end(with error: MirrorError) { states[current].ending = error }

    /// Whether a source may be asked for ranges.
    func givesRanges(_ position: Int) -> Bool {
        states[position].ending == nil && states[position].resumes
    }

    /// The place that the current source is, if the user put it in front of the others.
    var place: String? { states[current].source.place }

    /// Whether the current source is a file of a folder.
    var isFile: Bool { states[current].source.url.scheme == .file }

    /// Whether the current source is the only one of the manifest's.
    var isOnly: Bool {
        place == nil
            && !states.indices.contains {
                $0 != current && states[$0].source.place == nil
            }
    }

    /// The positions of the other sources that may fetch ranges over a connection of their own.
    ///
    /// A place in front of the others is there to spare them, so it shares its work with no source.
    var othersThatGiveRanges: [Int] {
        if place != nil { return [] }
        return states.indices.filter {
            $0 != current && givesRanges($0) && states[$0].source.url.scheme != .file
                && states[$0].source.place == nil
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

    /// Chooses the source of the next request, and the wait before the request.
    ///
    /// The next source is one that did not fail since the last wait, and whose host may be asked.
    /// If no source is left, the transfer waits. Then it asks the first source whose host may be
    /// asked by then. The result is nil if all sources have ended, or if they were tried often
    /// enough.
    ///
    /// - Parameters:
    ///   - after: the number of seconds for which the server asks to be left alone.
    ///   - isAtOnce: whether the transfer needs no wait if no other source is left.
    ///   - stays: whether the current source is asked again at once.
    /// - Returns: `wait`: milliseconds. `number`: the number of the next try, counted in rounds of
    ///   all sources; nil if the next request is made at once.
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
        // A source that did not fail in this round had no chance yet, because its host was closed.
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

    /// Moves to another source, because the current source's host does not answer.
    ///
    /// Returns false if no other source may be asked at once.
    mutating func moveElsewhere() -> Bool {
        let current = current
        guard let next = firstOpen(where: { $0 != current }) else { return false }
        failedInRound.insert(current)
        self.current = next
        return true
    }

    /// Leaves the current source, because its host is not asked for `wait` milliseconds.
    ///
    /// Returns nil if another source may be asked now. Otherwise returns the milliseconds until the
    /// host of the chosen source may be asked.
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
    /// Returns whether a status of a source says that a place in front of it lacks the file.
    private func isAbsent(at position: Int) -> (Int) -> Bool {
        let isPlace = states[position].source.place != nil
        return { isPlace && StatusCode.meansAbsent($0) }
    }

    /// Returns the error of a refusal by the current source, without advice.
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

    /// Returns the one error that stands for all sources, with advice.
    ///
    /// It is the first error that may heal, otherwise the first wrong digest, otherwise `last`.
    func finalError(_ last: MirrorError, attempts: Int) -> MirrorError {
        // A place in front of the sources says nothing about them.
        let own = states.filter { $0.source.place == nil }
        let errors = (own.isEmpty ? states : own).compactMap { $0.ending ?? $0.lastFailure }
        var error =
            errors.first { $0.isRetryable } ?? errors.first { $0.code == .digestMismatch }
            ?? (own.count == states.count ? last : errors.last ?? last)
        error.attempts = attempts
        error.tried = tried.reduce(into: [Int]()) { if !$0.contains($1) { $0.append($1) } }
            .filter { states[$0].ending?.status.map(isAbsent(at: $0)) != true }
            .map { states[$0].source.url.description }
        error.message += nextStep(error)
        return error
    }

    /// Returns the advice that follows the error. It holds for every program, so it is no `Remedy`.
    private func nextStep(_ error: MirrorError) -> String {
        let asked = Set(tried)
        let count = asked.count { states[$0].source.place == nil }
        if count == 0, !asked.isEmpty { return " No other source was asked." }
        let scope = count > 1 ? " None of \(count) sources gave the file." : ""
        if error.isRetryable { return scope + " Run again later." }
        switch error.code {
        case .digestMismatch, .sizeMismatch:
            return scope + " The bytes were dropped; correct the manifest if the file is right."
        case .httpStatus:
            let isSigned = states[current].source.isSigned
            return scope + (error.status.map { StatusCode.advice($0, isSigned: isSigned) } ?? "")
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

/// The waits before retries: exponential back-off with full jitter, from 0.5 s to 30 s.
///
/// Jitter alone may draw only short waits. Retries that end after five seconds do not outlive a
/// server that restarts. So the last wait makes up for the shortfall of the earlier waits. The
/// seven retries of the default take at least 22 s, and 31 s on average.
extension TransferPolicy {
    /// The greatest first wait in milliseconds. Each later ceiling is twice as high.
    static let firstCeiling: Int64 = 500
    /// The highest ceiling of a wait, in milliseconds.
    static let highestCeiling: Int64 = 30_000
    /// The least sum of all waits, as a share of the average sum.
    static let leastShare = 0.72

    /// Returns the wait in milliseconds before a retry. Retries count from 1.
    ///
    /// - Parameters:
    ///   - waited: the sum of the waits so far, in milliseconds.
    ///   - jitter: picks a number from 0 to its argument, evenly.
    func wait(
        beforeRetry retry: Int, waited: Int64 = 0, jitter: (Int64) -> Int64
    ) -> Int64 {
        let drawn = jitter(ceiling(of: retry))
        guard retry == retries else { return drawn }
        return min(max(drawn, leastTotal - waited), longestMilliseconds)
    }

    /// The greatest wait that may be drawn for a retry, in milliseconds. Retries count from 1.
    private func ceiling(of retry: Int) -> Int64 {
        let exponent = min(max(retry, 1) - 1, 20)
        let doubled = min(Self.firstCeiling << Int64(exponent), Self.highestCeiling)
        return min(doubled, longestMilliseconds)
    }

    private var longestMilliseconds: Int64 {
        let (milliseconds, overflow) = maxWait.wholeSeconds.multipliedReportingOverflow(by: 1000)
        return overflow ? .max : max(0, milliseconds)
    }

    /// The least sum of all waits, in milliseconds; 0 unless the policy has 1 to 10 retries.
    ///
    /// More retries take long enough by themselves.
    private var leastTotal: Int64 {
        guard (1...10).contains(retries) else { return 0 }
        let ceilings = (1...retries).reduce(into: Int64(0)) { $0 += ceiling(of: $1) }
        return Int64(Double(ceilings) / 2 * TransferPolicy.leastShare)
    }
}
