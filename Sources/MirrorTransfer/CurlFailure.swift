internal import CCurl
internal import Glibc
internal import MirrorModel

/// Translates libcurl's error numbers into transfer failures (libcurl-errors(3)).
enum CurlFailure {
    /// - Parameters:
    ///   - words: libcurl's text for the number.
    ///   - detail: the handle's error text, or an empty text.
    ///   - systemError: the errno of the last failed call.
    ///   - wasSent: whether a byte of the request was sent.
    static func failure(
        _ code: CURLcode, words: String, detail: String, systemError: Int, wasSent: Bool
    ) -> TransportFailure {
        // "Unsupported proxy syntax in '…'" and the like quote the proxy's URL with its password.
        if detail.hasPrefix("Unsupported proxy") {
            return TransportFailure(
                .connectFailed,
                "the environment names a proxy that cannot be used; write http://host:port",
                isPassing: false, wasSent: false)
        }
        if let status = proxyRefusal(in: detail) {
            // 5xx: the proxy could not reach the server, which may pass.
            let isPassing = StatusCode.isPassing(status)
            return TransportFailure(
                .connectFailed,
                "the proxy answered \(status) and makes no connection to the server"
                    + (status == 407 ? ": it wants a name and a password" : ""),
                isPassing: isPassing, wasSent: false)
        }
        let reason = Escaped(detail.isEmpty ? words : detail, limit: 160).description
        let (kind, isPassing) = kind(of: code, detail: detail, systemError: systemError)
        var failure = TransportFailure(
            kind, cause(of: kind, detail: detail, reason: reason), isPassing: isPassing,
            wasSent: wasSent,
            mayBeProtocol: code == CURLE_SSL_CONNECT_ERROR && kind == .tlsFailed)
        failure.isOfHTTP2 = code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM
        return failure
    }

    /// The status with which a proxy refused to make a tunnel; nil where it did not.
    private static func proxyRefusal(in detail: String) -> Int? {
        let words = "CONNECT tunnel failed, response "
        guard detail.hasPrefix(words) else { return nil }
        return Int(detail.dropFirst(words.count).prefix { $0.isNumber })
    }

    /// A handshake or request that failed where the server had asked for a client certificate.
    static let certificateWanted = TransportFailure(
        .tlsFailed, "the server wants a client certificate, and none was given", isPassing: false,
        wasSent: false)

    /// The text that is reported for a failure.
    static func cause(of kind: FailureCode, detail: String, reason: String) -> String {
        switch kind {
        case .nameNotResolved: "the host's name was not resolved: \(reason)"
        case .connectFailed: "no connection: \(reason)"
        // OpenSSL reports this when the first bytes of the response are text.
        case .tlsFailed where detail.contains("wrong version number"):
            "the server does not speak TLS on this port; it may speak HTTP there: write http://, or the port of HTTPS"
        case .tlsFailed: "no safe connection: \(reason)"
        // The first bytes of the answer are no status line.
        case .malformedResponse where detail.contains("HTTP/0.9"):
            "the answer is not HTTP; the server may speak HTTPS on this port: then write https://"
        case .malformedResponse: "the answer is malformed: \(reason)"
        default: "the connection was lost: \(reason)"
        }
    }

    private static func kind(
        of code: CURLcode, detail: String, systemError: Int
    ) -> (FailureCode, isPassing: Bool) {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            return (.nameNotResolved, true)
        case CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT, CURLE_PROXY:
            return (.connectFailed, true)
        case CURLE_SSL_CONNECT_ERROR:
            // The handshake also fails with this number when the connection breaks during it.
            let isLoss =
                [Int(ECONNRESET), Int(EPIPE), Int(ETIMEDOUT)].contains(systemError)
                || detail.contains("SSL_ERROR_SYSCALL") || detail.contains("unexpected eof")
            return isLoss ? (.connectionLost, true) : (.tlsFailed, false)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT:
            return (.tlsFailed, false)
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_OUT_OF_MEMORY,
            CURLE_BAD_CONTENT_ENCODING, CURLE_URL_MALFORMAT:
            // A header line over 100 KiB is reported as memory that ran out.
            return (.malformedResponse, false)
        default: return (.connectionLost, true)
        }
    }
}
