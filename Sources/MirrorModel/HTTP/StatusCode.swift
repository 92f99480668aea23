/// What a status code alone says about further requests: the only place that lists codes for it.
package enum StatusCode {
    /// Whether the same request may succeed later, so that it is made again after a wait.
    ///
    /// These are timeouts (408, 504), 425 (RFC 8470 §5.2), overload, and faults of the server that
    /// may pass (RFC 9110 §15.6).
    package static func isPassing(_ status: Int) -> Bool {
        isOverload(status) || [408, 425, 500, 502, 504].contains(status)
    }

    /// Whether running again later may help: what is passing, and every other fault of the server.
    ///
    /// The latter is not asked again in this run. It may pass all the same: proxies have codes of
    /// their own for a server that is down, and a captive portal answers 511 (RFC 6585 §6).
    package static func mayHeal(_ status: Int) -> Bool {
        isPassing(status) || (500...599).contains(status)
    }

    /// Whether the host is asked too often (429, RFC 6585 §4) or does not keep up (503).
    ///
    /// Such a host gets fewer transfers at once, and no further connections for a file.
    package static func isOverload(_ status: Int) -> Bool { status == 429 || status == 503 }

    /// Whether the server wants another protocol.
    ///
    /// These are 421, 426 and 505 (RFC 9110 §15), and the 464 of a load balancer that cannot
    /// translate.
    package static func refusesProtocol(_ status: Int) -> Bool {
        [421, 426, 464, 505].contains(status)
    }
}
