/// What a status code alone says about further requests. No other file lists codes for this.
enum StatusCode {
    /// Whether the same request may succeed later, so that mirror repeats it after a wait.
    ///
    /// These codes are timeouts (408, 504), 425 (RFC 8470 §5.2), overload, and errors of the server
    /// that may pass (RFC 9110 §15.6). A server that answers 202 is still making the file (RFC 9110
    /// §15.3.3).
    static func isPassing(_ status: Int) -> Bool {
        isOverload(status) || [202, 408, 425, 500, 502, 504].contains(status)
    }

    /// Whether a server may answer with this code only because the request asked for a range.
    ///
    /// Some servers have no ranges of a resource. They call the request wrong instead of sending
    /// the whole resource (RFC 9110 §14.2).
    static func mayRefuseRanges(_ status: Int) -> Bool {
        [400, 403, 404, 405, 412, 500, 501].contains(status)
    }

    /// Whether running again later may help: for passing codes, and for every other server error.
    ///
    /// mirror does not repeat a request after such another error in this run. The error may still
    /// pass: proxies have codes of their own for a server that is down. A captive portal answers
    /// 511 (RFC 6585 §6).
    static func mayHeal(_ status: Int) -> Bool {
        isPassing(status) || (500...599).contains(status)
    }

    /// Whether the host gets too many requests (429, RFC 6585 §4) or does not keep up (503).
    ///
    /// mirror then runs fewer transfers at once there, and opens no further connections for a file.
    static func isOverload(_ status: Int) -> Bool { status == 429 || status == 503 }

    /// Whether a server may answer with this code because it got no client certificate.
    static func mayWantCertificate(_ status: Int) -> Bool { status == 400 }

    /// Returns what helps against a refused request, as sentences that follow the error's own.
    ///
    /// - Parameter isSigned: whether the request was signed for S3.
    static func advice(_ status: Int, isSigned: Bool = false) -> String {
        if isSigned, status == 400 || status == 403 {
            return
                " S3 refuses the key, its rights, the signature or the region. Check the keys, the region and the clock."
        }
        return switch status {
        case 400:
            " The server does not understand the request: it may want https://, a header, or a client certificate."
        case 403: " The server forbids it: it may want credentials, or refuse this address."
        case 404, 410: " Check the URL."
        case 401:
            " The server wants a name and a password, or a token: give it a header or credentials."
        case 402: " The server wants to be paid for it."
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
    /// These codes are 421, 426 and 505 (RFC 9110 §15), and 464, which a load balancer sends when
    /// it cannot translate.
    static func refusesProtocol(_ status: Int) -> Bool {
        [421, 426, 464, 505].contains(status)
    }
}
