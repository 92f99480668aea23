internal import MirrorTestSupport

/// Heads without end, answers that nobody wants, and servers that do not get as far as HTTP.
extension EndlessAnswer {
    static let floods: [EndlessAnswer] = [
        EndlessAnswer("300 KiB of header lines") {
            $0.reply = [.send(lines(300)), text("Content-Length: 1\r\n\r\nx")]
        },
        EndlessAnswer("a header line of 200 KiB") {
            let line = "X: " + String(repeating: "x", count: 200 << 10)
            $0.reply = [text(ok + line + "\r\nContent-Length: 1\r\n\r\nx")]
        },
        EndlessAnswer("header lines without end") {
            $0.reply = [text(ok), .endless(Array("X-A: b\r\n".utf8))]
        },
        EndlessAnswer("empty header values without end") {
            $0.reply = [text(ok), .endless(Array("X:\r\n".utf8))]
        },
        EndlessAnswer("a header line without end") {
            $0.reply = [text(ok + "X: "), .endless(block)]
        },
        EndlessAnswer("a status line without end") {
            $0.reply = [text("HTTP/1.1 200 "), .endless(block)]
        },
        EndlessAnswer("1xx without end") {
            $0.reply = [.endless(Array("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".utf8))]
        },
        EndlessAnswer("folded lines without end") {
            $0.reply = [text(ok + "X: a\r\n"), .endless(Array(" b\r\n".utf8))]
        },
        EndlessAnswer("trailers of 300 KiB") {
            $0.reply = [
                text(ok + "Transfer-Encoding: chunked\r\n\r\n"), .send(chunk), text("0\r\n"),
                .send(lines(300)), text("\r\n"), .hold,
            ]
        },
        EndlessAnswer("trailer lines without end") {
            $0.reply = [
                text(ok + "Transfer-Encoding: chunked\r\n\r\n"), .send(chunk), text("0\r\n"),
                .endless(Array("X-A: b\r\n".utf8)),
            ]
        },
        EndlessAnswer("a trailer line without end") {
            $0.reply = [
                text(ok + "Transfer-Encoding: chunked\r\n\r\n"), .send(chunk), text("0\r\nX: "),
                .endless(block),
            ]
        },
    ]

    /// Bodies that nobody wants.
    static let unwanted: [EndlessAnswer] = [
        "404 Not Found\r\n", "302 Found\r\nLocation: /a.bin\r\n",
        "401 Unauthorized\r\nWWW-Authenticate: Basic\r\n", "503 Service Unavailable\r\n",
        "416 Range Not Satisfiable\r\n",
    ].flatMap { status -> [EndlessAnswer] in
        let hops = status.hasPrefix("302") ? 11.0 : 1
        let title = "\(status.prefix(3)) and "
        return [
            EndlessAnswer(title + "a body without length that never comes") {
                $0.reply = [text("HTTP/1.1 \(status)\r\n"), .hold]
                $0.seconds = 1
            },
            EndlessAnswer(title + "a body with a length that never comes") {
                $0.reply = [text("HTTP/1.1 \(status)Content-Length: 100\r\n\r\n"), .hold]
                $0.seconds = 1.25 * hops
            },
            EndlessAnswer(title + "an endless body") {
                $0.reply = [
                    text("HTTP/1.1 \(status)Transfer-Encoding: chunked\r\n\r\n"), .endless(chunk),
                ]
                $0.seconds = 1.25 * hops
            },
            EndlessAnswer(title + "a slow body") {
                $0.reply = [
                    text("HTTP/1.1 \(status)Transfer-Encoding: chunked\r\n\r\n"),
                    .trickle(chunk, count: 1024, milliseconds: 500),
                ]
                $0.seconds = 1.25 * hops
            },
        ]
    }

    static let loops: [EndlessAnswer] = [
        EndlessAnswer("a redirect to itself") {
            $0.reply = [text("HTTP/1.1 302 Found\r\nLocation: /a.bin\r\nContent-Length: 0\r\n\r\n")]
        },
        EndlessAnswer("a redirect of 200 KiB to itself") {
            let query = String(repeating: "x", count: 90_000)
            $0.reply = [
                text("HTTP/1.1 302 Found\r\nLocation: /a?\(query)\r\nContent-Length: 0\r\n\r\n")
            ]
        },
        EndlessAnswer("slow redirects with a deadline") {
            $0.options = ["--deadline", "6s"]
            $0.seconds = 6
            $0.reply = [
                .pause(milliseconds: 3000),
                text("HTTP/1.1 302 Found\r\nLocation: /a.bin\r\nContent-Length: 0\r\n\r\n"),
            ]
        },
        EndlessAnswer("come back in a year") {
            $0.options = ["--retries", "4"]
            $0.reply = [
                text("HTTP/1.1 503 No\r\nRetry-After: 31536000\r\nContent-Length: 0\r\n\r\n")
            ]
        },
        EndlessAnswer("a stall each time, with a deadline") {
            $0.options = ["--retries", "9", "--deadline", "12s"]
            $0.seconds = 12
            $0.reply = [.hold]
        },
    ]

    static let beforeHTTP: [EndlessAnswer] = [
        EndlessAnswer("a TLS handshake that never comes") {
            $0.place = .tls
            $0.greeting = [.hold]
            $0.seconds = 15
        },
        EndlessAnswer("a TLS handshake of a byte a second") {
            $0.place = .tls
            $0.greeting = [
                .trickle(
                    [22, 3, 3, 0x3F, 0xFF] + [UInt8](repeating: 2, count: 200), count: 1,
                    milliseconds: 500)
            ]
            $0.seconds = 15
        },
        EndlessAnswer("garbage instead of TLS") {
            $0.place = .tls
            $0.greeting = [.endless(block)]
        },
        EndlessAnswer("a proxy that never answers") {
            $0.place = .proxy
            $0.reply = [.hold]
        },
        EndlessAnswer("a tunnel that never opens") {
            $0.place = .tunnel
            $0.reply = [.hold]
            $0.seconds = 15
        },
        EndlessAnswer("a tunnel with header lines without end") {
            $0.place = .tunnel
            $0.reply = [text("HTTP/1.1 200 OK\r\n"), .endless(Array("X-A: b\r\n".utf8))]
            $0.seconds = 15
        },
        EndlessAnswer("a tunnel with a header line without end") {
            $0.place = .tunnel
            $0.reply = [text("HTTP/1.1 200 OK\r\nX: "), .endless(block)]
            $0.seconds = 15
        },
        EndlessAnswer("a tunnel that is refused with an endless body") {
            $0.place = .tunnel
            $0.reply = [
                text("HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n"), .endless(chunk),
            ]
            $0.seconds = 15
        },
        EndlessAnswer("bytes before any request") { $0.greeting = [.endless(block)] },
    ]

    /// The manifest itself comes from such a server.
    static let manifests: [EndlessAnswer] =
        (stalls.prefix(9) + floods.prefix(7) + unwanted.prefix(4) + loops.prefix(2)).map { other in
            var answer = other
            answer.place = .manifest
            answer.reply = other.reply
            return answer.titled("manifest: " + other.title)
        } + [
            EndlessAnswer("manifest: an endless body under --max-size") {
                $0.place = .manifest
                $0.reply = [text(ok + "\r\n{\"name\":\""), .endless(block)]
                $0.options = ["--max-size", "\(declared)"]
            },
            EndlessAnswer("manifest: a bomb") {
                $0.place = .manifest
                $0.reply = [
                    text(ok + "Content-Encoding: gzip\r\nContent-Length: 700000\r\n\r\n"),
                    .send(Gzip.bomb(700_000)),
                ]
            },
        ]
}
