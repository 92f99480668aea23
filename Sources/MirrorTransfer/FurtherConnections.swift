internal import MirrorModel
internal import MirrorSystem

/// The transfers that several connections may fetch, and what their connections need to begin.
///
/// The segments of each transfer open and close its further connections (`TransferSegments`). This
/// object knows when the number of connections of each is reviewed: bytes have come, a connection
/// has ended, or the pace wants another number.
final class FurtherConnections {
    let register: TransferRegister
    let requests: ActiveRequests
    let throttle: ReadingThrottle
    let work: TransferWork
    let policy: TransferPolicy
    private let limit: SegmentLimit
    private var segmented = SegmentedTransfers()

    init(
        _ configuration: Configuration, register: TransferRegister, requests: ActiveRequests,
        throttle: ReadingThrottle, work: TransferWork
    ) {
        policy = configuration.transfer
        limit = configuration.segments
        self.register = register
        self.requests = requests
        self.throttle = throttle
        self.work = work
    }

    /// Prepares further connections when a body of the transfer's own connection begins. The wire
    /// calls this, so no request is made or ended here: whatever has the transfer ask again has
    /// ended the further connections before, and waited until the part holds their bytes.
    func begin(_ reception: Reception, of transfer: Transfer) throws(MirrorError) {
        guard let total = reception.total, let source = transfer.plan?.source else { return }
        if let segments = transfer.segments, !segments.state.fits(reception) {
            assert(segments.state.helpers.isEmpty, "a connection outlived its transfer's request")
            transfer.segments = nil
        }
        if transfer.segments == nil,
            SegmentSet.mayDivide(missing: total - reception.offset, limit: limit),
            transfer.machine?.segmentSources.isEmpty == false
        {
            transfer.segments = makeSegments(
                Segmentation(total: total, front: reception.offset), of: transfer)
        }
        guard let segments = transfer.segments else { return }
        try segments.ownBegins(
            source: source, askedEnd: reception.end ?? total,
            answerTime: register.dispatcher.timeAsked(transfer.job.id))
        segmented.insert(transfer.job.id)
    }

    /// Takes the verified ranges beyond the front of a part that a transfer resumes.
    func resume(_ plan: Segmentation, of transfer: Transfer) {
        if plan.hasRangesBeyond { transfer.segments = makeSegments(plan, of: transfer) }
    }

    /// Tells the dispatcher what the end of a further connection says about its host.
    func heed(_ note: SegmentSet.HostNote?, about host: Host, for transfer: Transfer) {
        switch note {
        case nil: break
        case .speaks(let protocols, let source):
            register.dispatcher.know(protocols, of: host)
            transfer.machine?.know(protocols, of: source)
        case .asksForRest(let isCrowded, let hold):
            if isCrowded { register.dispatcher.refuseExtras(at: host) }
            // A wait that is too long would fail transfers that never requested more connections.
            if let hold, hold <= policy.longestWait {
                let until = work.clock.monotonic() + hold * 1000
                register.dispatcher.hold(host, until: until, isTooLong: false)
            }
        }
    }

    private func makeSegments(_ plan: Segmentation, of transfer: Transfer) -> TransferSegments {
        TransferSegments(SegmentSet(plan, limit: limit), of: transfer, among: self)
    }
}

// MARK: Reviews

extension FurtherConnections {
    /// Whether the connections of a transfer wait for a review.
    var needReview: Bool { segmented.hasUnlooked }

    /// Has the connections of a transfer reviewed soon.
    func review(_ id: Int) { segmented.look(at: id) }

    /// Returns the transfers whose connections are to be reviewed, and clears the list.
    func takeReviews() -> Set<Int> { segmented.takeUnlooked() }

    /// Measures the rates of connections; called four times a second.
    func measure(milliseconds: Int64) {
        for id in segmented.ids {
            guard let segments = register.transfers[id]?.segments else {
                segmented.remove(id)
                continue
            }
            segments.measure(milliseconds: milliseconds)
            segmented.look(at: id)
        }
    }

    /// Milliseconds until the numbers of connections are reviewed next; nil while all are settled.
    var timeToPace: Int64? {
        let isMeasured = segmented.ids.contains {
            register.transfers[$0]?.segments?.state.pace.isSettled == false
        }
        guard isMeasured else { return nil }
        return max(0, SegmentPace.look - segmented.paced.elapsed(now: work.clock.monotonic()))
    }

    /// Finds out how many connections bring more bytes; acts at most twenty times a second.
    func pace() {
        guard !segmented.ids.isEmpty,
            case let now = work.clock.monotonic(),
            segmented.paced.elapsed(now: now) >= SegmentPace.look
        else { return }
        // A processor that is busy with the bytes that come already cannot take more.
        let isBusy = segmented.paced.restart(now: now, busy: work.clock.threadBusy())
        for id in segmented.ids {
            let isHeldBack = throttle.limits.wasHeldBack || isBusy
            if register.transfers[id]?.segments?.pace(isHeldBack: isHeldBack, now: now) == true {
                segmented.look(at: id)
            }
        }
    }
}
