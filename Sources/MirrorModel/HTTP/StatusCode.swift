/// What a status code alone says about further requests: the only place that lists codes for it.
package enum StatusCode {
    /// Whether the same request may succeed later, so that it is made again after a wait.
    ///
    /// These are timeouts (408, 504), 425 (RFC 8470 §5.2), overload, and faults of the server that
    /// may pass (RFC 9110 §15.6). After 202 the file is being made (RFC 9110 §15.3.3).
    package static func isPassing(_ status: Int) -> Bool {
        isOverload(status) || [202, 408, 425, 500, 502, 504].contains(status)
    }

    /// Whether a server may answer so only because a range was asked for.
    ///
    /// Some servers have no ranges of a resource, and call the request wrong instead of sending the
    /// whole (RFC 9110 §14.2).
    package static func mayRefuseRanges(_ status: Int) -> Bool {
        [400, 403, 404, 405, 412, 500, 501].contains(status)
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

    /// What helps against a refusal, as sentences behind the error's own.
    package static func advice(_ status: Int) -> String {
        switch status {
        case 404, 410: " Check the URL."
        case 400:
            " The server does not understand the request: it may want https://, a header, or a client certificate."
        case 401:
            " The server wants a name and a password, or a token: give it a header or credentials."
        case 402: " The server wants to be paid for it."
        case 403: " The server forbids it: it may want credentials, or refuse this address."
        case 405: " The URL does not allow this method."
        case 406: " The server has it in no form that the Accept header allows."
        case 407:
            " The proxy wants a name and a password: write http://NAME:PASSWORD@HOST:PORT in its variable."
        case 411, 413, 414, 431: " The request is too long for the server, or lacks a length."
        case 421: " The server that answers is not responsible for this host."
        case 451: " It may not be sent for legal reasons."
        case 204, 205: " The server has nothing to send at this URL."
        case 206: " The server sends a part of the file that nobody asked for."
        case 300..<400: " Name the address that the server means, if it is known."
        default: " Ask the server's owner what it means."
        }
    }

    /// Whether the server wants another protocol.
    ///
    /// These are 421, 426 and 505 (RFC 9110 §15), and the 464 of a load balancer that cannot
    /// translate.
    package static func refusesProtocol(_ status: Int) -> Bool {
        [421, 426, 464, 505].contains(status)
    }
}
