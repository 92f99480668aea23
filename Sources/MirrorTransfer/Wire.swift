internal import MirrorModel

/// Makes requests: it has sockets, protocols and timers, and decides nothing.
///
/// One thread calls it. The wire reports each response to its active request inside `perform` and
/// `resume`, and no request may be made or ended there. `CurlWire` sends requests to servers; a
/// simulation has another wire, in which time is a number.
protocol Wire: AnyObject {
    /// Prepares a request, for an unused active request. Throws where no request can be made at
    /// all.
    func prepare(_ request: WireRequest, for active: ActiveRequest) throws(MirrorError)
    /// Makes the request.
    func begin(_ active: ActiveRequest)
    /// Ends the request in any state; its active request receives no further call.
    func end(_ active: ActiveRequest)
    /// Delivers the bytes that an active request held back, and resumes it; returns its end if it
    /// ended.
    func resume(_ active: ActiveRequest) -> WireEnd?
    /// Continues every request that can continue, without waiting.
    func perform()
    /// The next request that has ended by itself.
    func nextEnd() -> WireEnd?
    /// Ends the connection of a request if nothing came over it for so many milliseconds. Other requests
    /// that share it end too.
    func endConnection(of active: ActiveRequest, ifSilentFor milliseconds: Int64)
    /// Starts watching for a network that returns, which also ends a wait.
    func watchNetwork()
    /// Whether the network may have come back since the last call.
    func networkHasReturned() -> Bool
    /// Waits until a request can continue, a message arrives, or the time is over.
    func wait(milliseconds: Int64)
}

/// The contents of one request, for the wire.
struct WireRequest {
    let plan: RequestPlan
    let source: PreparedSource
    /// The body of a POST; nil for a GET.
    let postBody: [UInt8]?
    /// Whether it must not share a connection.
    let opensConnection: Bool

    /// Whether it may share a connection of HTTP/2.
    var mayShareConnection: Bool {
        !opensConnection && plan.url.scheme == .https && !plan.usesHTTP1
    }
}

/// How a request ended.
struct WireEnd {
    let active: ActiveRequest
    /// Nil when the response is complete.
    let failure: TransportFailure?
    /// Whether a byte of the request was sent.
    let wasSent: Bool
}
