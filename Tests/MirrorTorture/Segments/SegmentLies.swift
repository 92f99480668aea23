internal import MirrorTestSupport

/// Answers to a further connection that asks for a range of a large file.
struct SegmentLie: Sendable {
    /// A request for a range, and what there is to answer it with.
    struct Asked: Sendable {
        let range: Range<Int>
        /// The version that is served, and another of the same length.
        let bytes: [UInt8]
        let other: [UInt8]

        /// The bytes that were asked for.
        var body: [UInt8] { Array(bytes[range]) }

        /// The bytes of a range, as an honest server gives them.
        func answer(_ range: Range<Int>) -> WireAnswer {
            var answer = WireAnswer(status: "HTTP/1.1 206 Partial Content")
            answer.fields = [
                "ETag: \"v1\"",
                "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)",
            ]
            answer.body = Array(bytes[range])
            return answer
        }
    }

    let name: String
    /// Whether only a declared digest can tell.
    var isBelievable = false
    let make: @Sendable (Asked) -> WireAnswer

    private init(
        _ name: String, isBelievable: Bool = false,
        _ change: @escaping @Sendable (inout WireAnswer, Asked) -> Void
    ) {
        self.name = name
        self.isBelievable = isBelievable
        make = { asked in
            var answer = asked.answer(asked.range)
            change(&answer, asked)
            return answer
        }
    }

    /// Every answer, the honest one first.
    static let all: [SegmentLie] =
        [SegmentLie("the range") { _, _ in }] + bodies + ranges + versions + statuses + framings

    private static let bodies: [SegmentLie] = [
        SegmentLie("other bytes under the same tag", isBelievable: true) { answer, asked in
            answer.body = Array(asked.other[asked.range])
        },
        SegmentLie("the bytes a kibibyte further", isBelievable: true) { answer, asked in
            let start = min(asked.range.lowerBound + 1024, asked.bytes.count - asked.range.count)
            answer.body = Array(asked.bytes[start..<start + asked.range.count])
        },
        SegmentLie("half of it, then a reset") { $0.cut(at: $1.range.count / 2, .reset) },
        SegmentLie("half of it, then the end") { $0.cut(at: $1.range.count / 2, .finish) },
        SegmentLie("nothing of it") { answer, _ in answer.cut(at: 0, .finish) },
        SegmentLie("no answer") { answer, _ in
            answer.raw = []
            answer.ending = .finish
        },
        SegmentLie("more than it") { $0.surplus = Array($1.bytes.prefix(5000)) },
    ]

    private static let ranges: [SegmentLie] = [
        SegmentLie("a byte later") { answer, asked in
            answer = asked.answer(asked.range.lowerBound + 1..<asked.range.upperBound)
        },
        SegmentLie("a byte earlier") { answer, asked in
            answer = asked.answer(asked.range.lowerBound - 1..<asked.range.upperBound)
        },
        SegmentLie("the file's beginning") { $0 = $1.answer(0..<$1.range.count) },
        SegmentLie("everything from there") { answer, asked in
            answer = asked.answer(asked.range.lowerBound..<asked.bytes.count)
        },
        SegmentLie("its first half") { answer, asked in
            let first = asked.range.prefix(asked.range.count / 2)
            answer = asked.answer(first.startIndex..<first.endIndex)
        },
        SegmentLie("no Content-Range") { answer, _ in answer.remove("Content-Range") },
        SegmentLie("two Content-Ranges") { answer, _ in
            answer.fields.append("Content-Range: bytes 0-1/2")
        },
        SegmentLie("a Content-Range of letters") { answer, _ in
            answer.set("Content-Range", "bytes a-b/c")
        },
        SegmentLie("multipart") { answer, _ in
            answer.set("Content-Type", "multipart/byteranges; boundary=b")
        },
    ]

    private static let versions: [SegmentLie] = [
        SegmentLie("another version with its tag") { answer, asked in
            answer.set("ETag", "\"v2\"")
            answer.body = Array(asked.other[asked.range])
        },
        SegmentLie("another total") { answer, asked in
            answer.set(
                "Content-Range",
                "bytes \(asked.range.lowerBound)-\(asked.range.upperBound - 1)/\(asked.bytes.count + 1)"
            )
        },
        SegmentLie("an unknown total") { answer, asked in
            answer.set(
                "Content-Range",
                "bytes \(asked.range.lowerBound)-\(asked.range.upperBound - 1)/*")
        },
        SegmentLie("a weak tag") { answer, _ in answer.set("ETag", "W/\"v1\"") },
        SegmentLie("no tag") { answer, _ in answer.remove("ETag") },
        SegmentLie("the whole file") { answer, asked in
            answer = WireAnswer(fields: ["ETag: \"v1\""], body: asked.bytes)
        },
        SegmentLie("the whole file in another version") { answer, asked in
            answer = WireAnswer(fields: ["ETag: \"v2\""], body: asked.other)
        },
        SegmentLie("a page") { answer, _ in
            answer = WireAnswer(
                fields: ["Content-Type: text/html"], body: Array("<p>Sign in".utf8))
        },
    ]

    private static let statuses: [SegmentLie] =
        [
            "304 Not Modified", "400 Bad Request", "401 Unauthorized", "403 Forbidden",
            "404 Not Found",
            "412 Precondition Failed", "416 Range Not Satisfiable", "500 Internal Server Error",
            "502 Bad Gateway", "204 No Content", "202 Accepted",
        ].map { status in
            SegmentLie(status) { answer, _ in
                answer = WireAnswer(status: "HTTP/1.1 " + status)
                if status.hasPrefix("304") || status.hasPrefix("204") { answer.framing = .toTheEnd }
            }
        }
        + ["429 Too Many Requests", "503 Service Unavailable"].map { status in
            SegmentLie(status) { answer, _ in
                answer = WireAnswer(status: "HTTP/1.1 " + status, fields: ["Retry-After: 0"])
            }
        } + [
            SegmentLie("a redirect to itself") { answer, _ in
                answer = WireAnswer(status: "HTTP/1.1 302 Found", fields: ["Location: /a.bin"])
            }
        ]

    private static let framings: [SegmentLie] = [
        SegmentLie("chunks") { answer, _ in answer.framing = .chunked() },
        SegmentLie("chunks without an end") { answer, _ in
            answer.framing = .chunkedWithoutEnd
            answer.ending = .finish
        },
        SegmentLie("a broken chunk") { answer, _ in
            answer.framing = .brokenChunk("zz")
            answer.ending = .finish
        },
        SegmentLie("two lengths") { answer, asked in
            answer.framing = .lengths(["\(asked.range.count)", "\(asked.range.count - 1)"])
        },
        SegmentLie("a shorter length") { answer, asked in
            answer.framing = .lengths(["\(asked.range.count - 10)"])
        },
        SegmentLie("gzip") { answer, _ in answer.set("Content-Encoding", "gzip") },
        SegmentLie("an unknown transfer coding") { answer, _ in
            answer.framing = .chunked()
            answer.coding = "gzip, chunked"
        },
        SegmentLie("heads before it") { answer, _ in
            answer.before = String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 50)
        },
        SegmentLie("300 KiB of header lines") { answer, _ in
            answer.fields += (0..<300).map { "X-\($0): " + String(repeating: "x", count: 1024) }
        },
    ]
}
