internal import MirrorTestSupport

/// Statuses and redirects: answers whose body is not the file, to a range or not.
enum AnswersWithoutBody {
    static let all = refused + passing + redirects + odd

    private static let refused: [Answer] =
        [
            "201 Created", "204 No Content",
            "205 Reset Content", "207 Multi-Status", "208 Already Reported", "226 IM Used",
            "299 Whatever", "300 Multiple Choices", "301 Moved Permanently", "302 Found",
            "303 See Other", "305 Use Proxy", "306 Unused", "307 Temporary Redirect",
            "308 Permanent Redirect", "399 Whatever", "400 Bad Request", "401 Unauthorized",
            "402 Payment Required", "403 Forbidden", "404 Not Found", "405 Method Not Allowed",
            "406 Not Acceptable", "407 Proxy Authentication Required", "409 Conflict", "410 Gone",
            "411 Length Required", "412 Precondition Failed", "413 Content Too Large",
            "414 URI Too Long", "415 Unsupported Media Type", "417 Expectation Failed",
            "418 I'm a teapot", "422 Unprocessable Content",
            "423 Locked", "424 Failed Dependency", "426 Upgrade Required",
            "428 Precondition Required", "431 Request Header Fields Too Large",
            "451 Unavailable For Legal Reasons", "499 Whatever",
        ].map { .status($0, .refused) } + [
            .status("401 Unauthorized", .refused, ["WWW-Authenticate: Basic realm=\"x\""]),
            .status("401 Unauthorized", .refused, ["WWW-Authenticate: Negotiate"]),
            .status(
                "407 Proxy Authentication Required", .refused,
                ["Proxy-Authenticate: Basic realm=\"x\""]),
            .status("300 Multiple Choices", .refused, ["Location: /b.bin"]),
            // Asked once more, over a connection of its own.
            .status("421 Misdirected Request", .refusedAfter(1)),
        ]

    private static let passing: [Answer] =
        [
            "202 Accepted", "408 Request Timeout", "425 Too Early", "429 Too Many Requests",
            "500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable",
            "504 Gateway Timeout",
        ].map { .status($0, .passing) }
        + [
            "0", "", "soon", "-1", "99999999999999999999", "86400",
            "Fri, 31 Dec 1999 23:59:59 GMT", "Sat, 21 Nov 2999 03:00:00 GMT",
        ].map { .status("429 Too Many Requests", .passing, ["Retry-After: \($0)"]) }

    /// Statuses of which the contract says nothing but that they carry no bytes for us.
    private static let odd: [Answer] = [
        "501 Not Implemented", "505 HTTP Version Not Supported", "507 Insufficient Storage",
        "508 Loop Detected", "511 Network Authentication Required", "520 Whatever",
        "599 Whatever", "600 Whatever", "999 Whatever", "099 Whatever",
    ].map { .status($0, .failed) }

    private static let redirects: [Answer] =
        ["301", "302", "303", "307", "308"].flatMap { code -> [Answer] in
            [
                redirect(code, "/b.bin", .elsewhere(1)), redirect(code, "/hop/8", .elsewhere(10)),
                redirect(code, "/hop/9", .refusedAfter(10)),
                redirect(code, "/a.bin", .refusedAfter(10)),
                redirect(code, "ftp://127.0.0.1/b.bin", .refused),
                redirect(code, "file:///etc/passwd", .refused),
            ]
        } + [
            redirect("302", "b.bin", .elsewhere(1)), redirect("302", "./x/../b.bin", .elsewhere(1)),
            redirect("302", "/b.bin#fragment", .elsewhere(1)),
            redirect("302", "/b.bin?signature=1", .elsewhere(1)),
            redirect("302", "", .refused), redirect("302", "javascript:alert(1)", .refused),
            redirect("302", "http://", .refused), redirect("302", "//", .refused),
            redirect("302", "http://[::1", .refused), redirect("302", "data:,a", .refused),
            redirect("302", "http://127.0.0.1:1/b.bin", .failed),
            redirect("302", "dict://127.0.0.1/", .refused),
            Answer("302 to two places", isBodiless: true, { _ in .refused }) { _ in
                WireAnswer(
                    status: "HTTP/1.1 302 Found", fields: ["Location: /b.bin", "Location: /c.bin"])
            },
            Answer("302 in chunks", isBodiless: true, { _ in .elsewhere(1) }) { _ in
                WireAnswer(
                    status: "HTTP/1.1 302 Found", fields: ["Location: /b.bin"], framing: .chunked(),
                    body: Array("elsewhere".utf8))
            },
            Answer("302 with a long body", isBodiless: true, { _ in .elsewhere(1) }) { served in
                WireAnswer(
                    status: "HTTP/1.1 302 Found", fields: ["Location: /b.bin"], body: served.bytes)
            },
            Answer("302 with a body that breaks off", isBodiless: true, { _ in .elsewhere(1) }) {
                served in
                WireAnswer(
                    status: "HTTP/1.1 302 Found", fields: ["Location: /b.bin"], body: served.bytes,
                    sent: 10, ending: .finish)
            },
        ]

    private static func redirect(_ code: String, _ place: String, _ meaning: Answer.Meaning)
        -> Answer
    { .status("\(code) Elsewhere", meaning, ["Location: \(place)"]) }
}
