internal import MirrorModel

/// Where requests are made: sockets, protocols and timers, and no decision.
///
/// One thread calls in here. What an answer brings is told to its active, inside `perform` and `resume`,
/// and no request may be made or ended there. `CurlWire` is the one that asks servers; a simulation has
/// another, in which time is a number.
protocol Wire: AnyObject {
    /// Makes a request ready, for an active that was not used before. Throws where no request can be
    /// made at all.
    func prepare(_ request: WireRequest, for active: ActiveRequest) throws(MirrorError)
    /// Makes the request.
    func begin(_ active: ActiveRequest)
    /// Ends it, however far it is: its active is told nothing more.
    func end(_ active: ActiveRequest)
    /// Delivers what an active held back, and goes on; its end where that was one.
    func resume(_ active: ActiveRequest) -> WireEnd?
    /// Lets every request that can go on do so, without waiting.
    func perform()
    /// The next request that has ended by itself.
    func nextEnd() -> WireEnd?
    /// Begins to look for a network that comes back, which ends a wait too.
    func watchNetwork()
    /// Whether the network may have come back since the last call.
    func networkHasReturned() -> Bool
    /// Waits until a request can go on, the loop is told something, or so many milliseconds are over.
    func wait(milliseconds: Int64)
}

/// One request as the wire gets it.
struct WireRequest {
    let plan: RequestPlan
    let source: PreparedSource
    /// The body of a POST; nil for a GET.
    let postBody: [UInt8]?
    /// Whether it must not share a connection.
    let opensConnection: Bool
}

/// How a request ended.
struct WireEnd {
    let active: ActiveRequest
    /// Nil when the answer is complete.
    let failure: TransportFailure?
    /// Whether a byte of the request was sent.
    let wasSent: Bool
}
