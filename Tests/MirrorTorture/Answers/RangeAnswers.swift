internal import MirrorTestSupport

/// Answers to a request for the bytes from a position on.
enum RangeAnswers {
    static let all =
        ranges + contentRanges + rangesAsWhole + lengths + bodies + versions + encodings
        + unsatisfied + AnswersWithoutBody.all

    /// Keeps to If-Range, as it should.
    static let honest = Answer.range("the range", .continued(1))
    /// Sends the range whatever If-Range says.
    static let careless = Answer.range("the range, whatever If-Range says", .continued(1))

    private static func by(
        pinned: Answer.Meaning?, unpinned: Answer.Meaning?
    ) -> @Sendable (Knowledge) -> Answer.Meaning? {
        { $0.isPinned ? pinned : unpinned }
    }

    private static let ranges: [Answer] = [
        honest, careless,
        portions(of: 17_000, .continued(2)),
        // So few bytes count as a try, and there is no other.
        portions(of: 7000, .cut),
        .range("one byte, then all", .cut) { answer, served in
            guard served.offset == 70_000 else { return }
            answer.set("Content-Range", "bytes 70000-70000/90000")
            answer.body = [served.bytes[70_000]]
        },
        .range("unknown total", { $0 == .both ? .continued(1) : .restarted }) { answer, served in
            answer.set("Content-Range", "bytes \(served.offset)-\(served.bytes.count - 1)/*")
        },
        .range("a byte later", .restarted) { answer, served in
            let first = served.offset + 1
            answer.set("Content-Range", "bytes \(first)-\(served.bytes.count - 1)/90000")
            answer.body = Array(served.bytes[first...])
        },
        .range("a byte earlier", .restarted) { answer, served in
            let first = served.offset - 1
            answer.set("Content-Range", "bytes \(first)-\(served.bytes.count - 1)/90000")
            answer.body = Array(served.bytes[first...])
        },
        .range("all of it", .restarted) { answer, served in
            answer.set("Content-Range", "bytes 0-89999/90000")
            answer.body = served.bytes
        },
        .range("the first bytes", .restarted) { answer, served in
            answer.set("Content-Range", "bytes 0-19999/90000")
            answer.body = Array(served.bytes[..<20_000])
        },
        .range("multipart", .restarted) { answer, served in
            answer.remove("Content-Range")
            answer.set("Content-Type", "multipart/byteranges; boundary=b")
            answer.body =
                Array("--b\r\nContent-Range: bytes \(served.offset)-89999/90000\r\n\r\n".utf8)
                + served.bytes[served.offset...] + Array("\r\n--b--\r\n".utf8)
        },
    ]

    private static func portions(of size: Int, _ meaning: Answer.Meaning) -> Answer {
        .range("\(size) bytes at a time", meaning) { answer, served in
            let last = min(served.offset + size, served.bytes.count) - 1
            answer.set("Content-Range", "bytes \(served.offset)-\(last)/\(served.bytes.count)")
            answer.body = Array(served.bytes[served.offset...last])
        }
    }

    private static let contentRanges: [Answer] =
        [
            "bytes 70000-89999/90001", "bytes 70000-89999/89999", "bytes 70000-90000/90000",
            "bytes 70000-69999/90000", "bytes 70000-89999", "bytes 70000-/90000",
            "70000-89999/90000",
            "octets 70000-89999/90000", "bytes=70000-89999/90000", "bytes 70000-89999/90000, 0-1/2",
            "bytes -20000/90000", "bytes */90000", "bytes 70000-89999/", "bytes", "",
            "bytes 70000-89999/90000x", "bytes +70000-89999/90000", "bytes 7e4-89999/90000",
            "bytes 70000-18446744073709641615/90000", "bytes 70000 89999/90000",
            "bytes 18446744073709621616-89999/90000", "bytes 0x11170-0x15f8f/90000",
            "bytes 70000-89999/-1", "bytes 70000-89999/0", "none",
        ].map { value in
            .range("Content-Range \(value)", .restarted) { answer, _ in
                answer.set("Content-Range", value)
            }
        }
        + [
            "BYTES 70000-89999/90000", "bytes 0070000-89999/90000", "bytes  70000-89999/90000",
            "bytes 70000 - 89999 / 90000", "bytes\t70000-89999/90000",
        ].map { value in
            .range("Content-Range \(value)", .restartedOrContinued) { answer, _ in
                answer.set("Content-Range", value)
            }
        } + [
            .range("no Content-Range", .restarted) { answer, _ in answer.remove("Content-Range") },
            .range("the Content-Range twice", .restarted) { answer, _ in
                answer.fields.append("Content-Range: bytes 70000-89999/90000")
            },
            .range("two Content-Ranges", .restarted) { answer, _ in
                answer.fields.append("Content-Range: bytes 0-19999/90000")
            },
        ]

    /// The range that was asked for, as if it were the whole file.
    private static let rangesAsWhole: [Answer] = [
        .range("as 200", .restarted) { answer, _ in
            answer.status = "HTTP/1.1 200 OK"
            answer.remove("Content-Range")
        },
        .range("as 200 with a Content-Range", .restarted) { answer, _ in
            answer.status = "HTTP/1.1 200 OK"
        },
        .range("as 200 with a Content-Range and another tag", .restarted) { answer, _ in
            answer.status = "HTTP/1.1 200 OK"
            answer.set("ETag", "\"other\"")
        },
        .range("as 200 in chunks", .restartedTwice) { answer, _ in
            answer.status = "HTTP/1.1 200 OK"
            answer.remove("Content-Range")
            answer.framing = .chunked()
        },
        .range("as 200 in chunks that break off", .restartedAndCut) { answer, _ in
            answer.status = "HTTP/1.1 200 OK"
            answer.remove("Content-Range")
            answer.framing = .chunkedWithoutEnd
            answer.cut(at: 9000, .finish)
        },
        .range("as 200 without validators", .restarted) { answer, _ in
            answer.status = "HTTP/1.1 200 OK"
            for name in ["Content-Range", "ETag", "Last-Modified"] { answer.remove(name) }
        },
    ]

    private static let lengths: [Answer] =
        [["20001"], ["19999"], ["90000"], ["20000", "19999"], ["20000x"]].map { lengths in
            .range("lengths \(lengths)", .restarted) { answer, _ in
                answer.framing = .lengths(lengths)
                answer.ending = .finish
            }
        }
        // libcurl gives up on these before the head is complete.
        + ["-1", "", "x"].map { length in
            .range("length \(length)", .restartedOrRefused) { answer, _ in
                answer.framing = .lengths([length])
                answer.ending = .finish
            }
        } + [
            .range("chunked", .continued(1)) { answer, _ in answer.framing = .chunked([999]) },
            .range("chunked, trailers with another tag", .continued(1)) { answer, _ in
                answer.framing = .chunked()
                answer.trailers = ["ETag: \"other\"", "Content-Range: bytes 0-1/2"]
            },
            .range("to the end", .continued(1)) { answer, _ in
                answer.framing = .toTheEnd
                answer.ending = .finish
            },
            .range("Transfer-Encoding gzip", .restarted) { answer, _ in
                answer.set("Transfer-Encoding", "gzip")
                answer.framing = .toTheEnd
                answer.ending = .finish
            },
        ]

    private static let bodies: [Answer] = [
        .range("cut by FIN", .cut) { answer, _ in answer.cut(at: 9000, .finish) },
        .range("cut by RST", .cut) { answer, _ in answer.cut(at: 9000, .reset) },
        .range("cut before its body", .cut) { answer, _ in answer.cut(at: 0, .reset) },
        .range("chunked and cut", .cut) { answer, _ in
            answer.framing = .chunkedWithoutEnd
            answer.cut(at: 9000, .finish)
        },
        .range("to the end and cut by FIN", .cut) { answer, _ in
            answer.framing = .toTheEnd
            answer.cut(at: 9000, .finish)
        },
        .range("chunked and shorter", .cut) { answer, served in
            answer.framing = .chunked()
            answer.body = Array(served.bytes[served.offset...].dropLast(9000))
        },
        .range("chunked and longer", .refused) { answer, _ in
            answer.framing = .chunked()
            answer.body += [1, 2, 3]
        },
        .range("to the end and longer", .refused) { answer, _ in
            answer.framing = .toTheEnd
            answer.body += [1, 2, 3]
            answer.ending = .finish
        },
        .range("bytes behind the length", .continued(1)) { answer, _ in
            answer.surplus = Array("HTTP/1.1 200 OK\r\n\r\n".utf8)
        },
        .range("1xx before, with another range", .continued(1)) { answer, _ in
            answer.before =
                "HTTP/1.1 103 Early Hints\r\nContent-Range: bytes 0-1/2\r\nETag: \"o\"\r\n\r\n"
        },
        .range("no Content-Type", .continued(1)) { answer, _ in answer.remove("Content-Type") },
        .range("Repr-Digest", .continued(1)) { answer, served in
            answer.set("Repr-Digest", Checksum.reprDigest(served.bytes))
        },
    ]

    private static let versions: [Answer] =
        ["\"other\"", "W/\"v1\"", "v1", "", "\"V1\"", "\"v1\" ", "\"v1\", \"v2\"", "'v1'"]
        .filter { !$0.hasSuffix(" ") }.map { tag in
            .range("ETag \(tag)", .restarted) { answer, _ in answer.set("ETag", tag) }
        } + [
            .range("no ETag", .restarted) { answer, _ in answer.remove("ETag") },
            .range("the ETag twice", .restarted) { answer, _ in
                answer.fields += answer.fields.filter { $0.hasPrefix("ETag") }
            },
            .range("two ETags", .restarted) { answer, _ in answer.fields.append("ETag: \"o\"") },
            .range("a date instead of the ETag", .restarted) { answer, _ in
                answer.remove("ETag")
                answer.set("Last-Modified", "Sat, 21 Nov 2026 03:00:00 GMT")
            },
            .range(
                "bytes of another version under this tag", by(pinned: .restarted, unpinned: nil)
            ) { answer, served in answer.body = Array(served.older[served.offset...]) },
            .whole("the whole file, whatever the range", .taken),
            .whole("the whole file, whatever the range, chunked", .taken) { answer, _ in
                answer.framing = .chunked()
            },
        ]

    private static let encodings: [Answer] =
        ["gzip", "br", "foo"].map { coding in
            .range("Content-Encoding \(coding)", by(pinned: .continued(1), unpinned: .restarted)) {
                answer, _ in answer.set("Content-Encoding", coding)
            }
        } + [
            .range("Content-Encoding identity", .continued(1)) { answer, _ in
                answer.set("Content-Encoding", "identity")
            },
            .range("text/html", by(pinned: .continued(1), unpinned: .passing)) {
                answer, _ in answer.set("Content-Type", "text/html")
            },
        ]

    private static let unsatisfied: [Answer] =
        [
            "bytes */90000", "bytes */70000", "bytes */0", "bytes */*", "bytes */", "",
            "bytes 70000-89999/90000", "bytes */-1", "*/90000", "bytes */90000, bytes */70000",
        ].map { .status("416 Range Not Satisfiable", .restarted, ["Content-Range: \($0)"]) }
        + [
            .status("416 Range Not Satisfiable", .restarted),
            .status(
                "416 Range Not Satisfiable", .restarted,
                ["Content-Range: bytes */90000", "Content-Range: bytes */70000"]),
            .status(
                "416 Range Not Satisfiable", .restarted,
                ["Content-Range: bytes */90000", "ETag: \"v1\""]),
            .status("304 Not Modified", .restartedOrRefused, ["ETag: \"v1\""]),
            .status("304 Not Modified", .restartedOrRefused),
        ]
}
