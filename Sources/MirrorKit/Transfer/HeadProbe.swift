/// Asks servers about URLs: HEAD, and one byte if the answer to HEAD says too little.
///
/// The probe uses the wire of transfers on the calling thread: the same redirect rules, timeouts,
/// proxies and addresses. It reads no body beyond what one packet may bring.
final class HeadProbe {
    /// Maximum number of URLs that are asked about at once.
    private static let together = 16

    private let wire: any Wire
    private let patience: Int64
    private let isCancelled: () -> Bool
    private var waiting: [Int] = []
    private var running: [Int: Question] = [:]
    private var reports: [ProbeReport] = []
    private var lastRequest = 0

    /// The requests about one URL.
    private struct Question {
        let number: Int
        let source: PreparedSource
        var redirection: Redirection
        var isFirstByte = false
        /// Whether requests use HTTP/1.1, where no other question shares their connection.
        var usesHTTP1 = false
        var active: ActiveRequest?
        var head: ResponseHead?
        /// The time after which the probe no longer waits for the answer.
        var end = ContinuousClock.now
    }

    /// Makes a probe over libcurl. Throws `MirrorError` if the process has no descriptors left.
    convenience init(
        _ configuration: Configuration, isCancelled: @escaping () -> Bool
    ) throws(MirrorError) {
        do throws(Errno) {
            self.init(
                CurlWire(configuration, signal: try WakeSignal()),
                patience: (configuration.transfer.connectTimeout
                    + configuration.transfer.stallTimeout).wholeSeconds,
                isCancelled: isCancelled)
        } catch { throw MirrorError(error) }
    }

    /// - Parameter patience: seconds that an answer may take.
    init(_ wire: any Wire, patience: Int64, isCancelled: @escaping () -> Bool) {
        self.wire = wire
        self.patience = patience
        self.isCancelled = isCancelled
    }

    /// Asks about URLs, several at once. Returns the reports in the order of the URLs.
    ///
    /// The refusal of a server is in the report of its URL. Throws `MirrorError` if no request can
    /// be made, and `cancelled` after a cancellation.
    func reports(on urls: [SourceURL]) throws(MirrorError) -> [ProbeReport] {
        reports = urls.map { ProbeReport(url: $0.description) }
        // After an error or a cancellation, some requests are still under way.
        defer { while let (_, left) = running.popFirst() { left.active.map(wire.end) } }
        var next = 0
        while next < urls.count || !running.isEmpty {
            if isCancelled() {
                throw MirrorError(.cancelled, "Interrupted while servers were asked.")
            }
            while next < urls.count, running.count < HeadProbe.together {
                let source = PreparedSource(
                    url: urls[next], key: SourceKey(urls[next]), headers: [])
                var question = Question(
                    number: next, source: source,
                    redirection: Redirection(url: urls[next], isPost: false))
                try ask(&question)
                next += 1
            }
            wire.perform()
            while let end = wire.nextEnd() { try take(end) }
            giveUpOverdue()
            if !running.isEmpty { wire.wait(milliseconds: 100) }
        }
        return reports
    }

    /// Makes the next request of a question.
    private func ask(_ question: inout Question) throws(MirrorError) {
        var plan = RequestPlan(source: 0, url: question.redirection.url)
        plan.isHead = !question.isFirstByte
        plan.end = question.isFirstByte ? 1 : nil
        plan.usesHTTP1 = question.usesHTTP1
        plan.carriesCredentials = !question.redirection.hasLeftOrigin
        plan.cookie = question.redirection.cookie
        lastRequest += 1
        let active = ActiveRequest(
            plan, to: question.source, number: lastRequest, id: question.number, listener: self,
            stall: StallClock(timeout: patience))
        try wire.prepare(active)
        question.active = active
        question.head = nil
        question.end = .now.advanced(by: .seconds(patience))
        running[question.number] = question
        wire.begin(active)
    }

    /// Handles the end of a request, and makes the next one if the answer says too little.
    private func take(_ end: WireEnd) throws(MirrorError) {
        let number = end.active.id
        guard var question = running.removeValue(forKey: number) else { return }
        wire.end(end.active)
        question.active = nil
        let wantsHTTP1 =
            end.failure?.isMisplaced == true || end.failure?.isOfHTTP2 == true
            || end.active.isMisplaced
        if wantsHTTP1, !question.usesHTTP1 {
            question.usesHTTP1 = true
            return try ask(&question)
        }
        guard let head = question.head else {
            return fail(question, failure(of: end))
        }
        if (300..<400).contains(head.status), let location = head.redirectLocation {
            do throws(ResponseError) {
                try question.redirection.follow(head, to: location, at: SystemClock.now())
            } catch { return fail(question, error) }
            reports[number].redirects.append(question.redirection.url.description)
            return try ask(&question)
        }
        let (url, now) = (question.redirection.url, SystemClock.now())
        if question.isFirstByte {
            reports[number].take(firstByte: head, from: url, at: now)
        } else {
            reports[number].take(head: head, from: url, at: now)
            if reports[number].needsFirstByte {
                question.isFirstByte = true
                return try ask(&question)
            }
        }
        reports[number].name = reports[number].name ?? url.lastSegment
    }

    private func failure(of end: WireEnd) -> ResponseError {
        if case .refused(let refusal) = end.active.finding { return refusal }
        if let failure = end.failure { return ResponseError(failure) }
        return ResponseError(.malformedResponse, "the server answered nothing")
    }

    /// Ends a question; the facts from an earlier answer stay in the report.
    private func fail(_ question: Question, _ refusal: ResponseError) {
        // A server that answered HEAD counts as one that answers, even if it breaks off the GET.
        if question.isFirstByte, reports[question.number].isGood { return }
        let url = question.redirection.url
        var error = MirrorError(refusal.code, "\(url): \(refusal.cause).")
        error.source = url.description
        error.status = refusal.status
        error.remedy = refusal.remedy(at: url)
        reports[question.number].error = error
    }

    private func giveUpOverdue() {
        let now = ContinuousClock.now
        for question in running.values where now >= question.end {
            running[question.number] = nil
            if let active = question.active { wire.end(active) }
            fail(question, ResponseError(.stalled, "no answer came for \(patience) s"))
        }
    }
}

extension HeadProbe: ActiveRequest.Listener {
    func received(head: ResponseHead, on active: ActiveRequest) -> Bool {
        running[active.id]?.head = head
        return false
    }

    func began(_ active: ActiveRequest) {}

    func misplaced(_ active: ActiveRequest) {}

    func heldBack(_ active: ActiveRequest) {}

    func received(bytes: UnsafeRawBufferPointer, on active: ActiveRequest) -> ActiveRequest.Reply {
        .stop
    }
}

/// Asks servers about files without downloading them.
package enum ServerProbe {
    /// The reports on URLs, in the order of the URLs.
    ///
    /// The probe sends a HEAD for each URL. If the response says too little, a GET of the first
    /// byte follows. If a server refuses, its report says so. Throws `MirrorError` with
    /// `cancelled`, or if no request can be made at all.
    package static func reports(
        on urls: [SourceURL], configuration: Configuration = Configuration()
    ) async throws -> [ProbeReport] {
        try configuration.validate()
        let cancellation = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await Offload.run {
                try HeadProbe(configuration, isCancelled: { cancellation.isSet }).reports(on: urls)
            }
        } onCancel: {
            cancellation.set()
        }
    }
}
