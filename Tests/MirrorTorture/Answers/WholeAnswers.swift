internal import MirrorTestSupport

/// Answers to a request for the whole file.
enum WholeAnswers {
    static let all =
        framings + lengths + transferCodings + closings + broken + codings + types + validators
        + heads + AnswersWithoutBody.all

    static let honest = Answer.whole("the whole file", .taken)

    /// A meaning for each thing that may be known.
    private static func by(
        nothing: Answer.Meaning, size: Answer.Meaning, digest: Answer.Meaning, both: Answer.Meaning
    ) -> @Sendable (Knowledge) -> Answer.Meaning? {
        { [.nothing: nothing, .size: size, .digest: digest, .both: both][$0] }
    }

    private static func by(
        pinned: Answer.Meaning, unpinned: Answer.Meaning
    ) -> @Sendable (Knowledge) -> Answer.Meaning? {
        { $0.isPinned ? pinned : unpinned }
    }

    private static let framings: [Answer] =
        [
            honest,
            .whole("203", .taken) { answer, _ in
                answer.status = "HTTP/1.1 203 Non-Authoritative Information"
            },
            .whole("chunked", .taken) { answer, _ in answer.framing = .chunked() },
            .whole("chunked, odd sizes and extensions", .taken) { answer, _ in
                answer.framing = .chunked([1, 7, 4096], suffix: ";name=\"value\"")
            },
            .whole("chunked, trailers with another tag", .taken) { answer, _ in
                answer.framing = .chunked()
                answer.trailers = ["ETag: \"other\"", "Content-Range: bytes 5-9/10", "X: y"]
            },
            .whole("chunked, all bytes, no last chunk, FIN", .cutAtTheEnd) { answer, _ in
                answer.framing = .chunkedWithoutEnd
                answer.ending = .finish
            },
            .whole("chunked, all bytes, no last chunk, RST", .cutAtTheEnd) { answer, _ in
                answer.framing = .chunkedWithoutEnd
                answer.ending = .reset
            },
            .whole("chunked, cut amid", .cut) { answer, _ in
                answer.framing = .chunkedWithoutEnd
                answer.cut(at: 40_000, .finish)
            },
        ]
        + ["xyz", "FFFFFFFFFFFFFFFFFF", "-5", "", "0x10", "5 5", "\u{1}"].map { size in
            .whole("chunk size \(size)", .failed) { answer, _ in
                answer.framing = .brokenChunk(size)
                answer.ending = .finish
            }
        }

    private static let lengths: [Answer] =
        [
            .whole(
                "length too long, FIN",
                by(nothing: .cut, size: .refused, digest: .cut, both: .refused)
            ) { answer, served in
                answer.framing = .lengths(["\(served.bytes.count + 10)"])
                answer.ending = .finish
            },
            .whole(
                "length too short",
                by(nothing: .takenAs(0..<89_990), size: .refused, digest: .wrong, both: .refused)
            ) { answer, served in answer.framing = .lengths(["\(served.bytes.count - 10)"]) },
            .whole("two equal lengths", .taken) { answer, served in
                answer.framing = .lengths(["\(served.bytes.count)", "\(served.bytes.count)"])
            },
            .whole("a list of equal lengths", .taken) { answer, served in
                answer.framing = .lengths(["\(served.bytes.count), \(served.bytes.count)"])
            },
        ]
        + [["90000", "100"], ["100", "90000"], ["90000, 100"], ["90000", ""], ["90000,"]].map {
            lengths in
            .whole("lengths \(lengths)", .refused) { answer, _ in
                answer.framing = .lengths(lengths)
            }
        }
        + [
            "", "-90000", "+90000", "90000x", "0x15f90", "90000.0", "9e4", "90 000", "90000;",
            "\"90000\"", "18446744073709641616", "9223372036854775808", "nine", "90000\u{B}",
            "\u{0663}",
        ].map { length in
            .whole("length \(length)", .refused) { answer, _ in
                answer.framing = .lengths([length])
            }
        }

    private static let transferCodings: [Answer] =
        [
            "gzip", "identity", "chunked, chunked", "gzip, chunked", "chunked, gzip", "xchunked",
            "chunked;q=1", "\u{B}chunked",
        ].map { coding in
            .whole("Transfer-Encoding \(coding)", .refused) { answer, _ in
                answer.set("Transfer-Encoding", coding)
                answer.framing = .toTheEnd
                answer.ending = .finish
            }
        } + [
            .whole("Transfer-Encoding CHUNKED", .taken) { answer, _ in
                answer.framing = .chunked()
                answer.coding = "CHUNKED"
            },
            .whole("chunked and a length", .takenOrRefused) { answer, _ in
                answer.framing = .chunked()
                answer.set("Content-Length", "100")
            },
            .whole("chunked in HTTP/1.0", .refused) { answer, _ in
                answer.status = "HTTP/1.0 200 OK"
                answer.framing = .chunked()
                answer.ending = .finish
            },
        ]

    private static let closings: [Answer] = [
        .whole("to the end, FIN", .taken) { answer, _ in
            answer.framing = .toTheEnd
            answer.ending = .finish
        },
        .whole("to the end, RST after all bytes", .cutAtTheEnd) { answer, _ in
            answer.framing = .toTheEnd
            answer.ending = .reset
        },
        .whole(
            "to the end, cut by FIN",
            by(nothing: .takenAs(0..<40_000), size: .cut, digest: .wrong, both: .cut)
        ) { answer, _ in
            answer.framing = .toTheEnd
            answer.cut(at: 40_000, .finish)
        },
        .whole("HTTP/1.0 with a length", .taken) { answer, _ in
            answer.status = "HTTP/1.0 200 OK"
            answer.ending = .finish
        },
        .whole("HTTP/1.0 to the end", .taken) { answer, _ in
            answer.status = "HTTP/1.0 200 OK"
            answer.framing = .toTheEnd
            answer.ending = .finish
        },
        .whole("Connection: close", .taken) { answer, _ in
            answer.set("Connection", "close")
            answer.ending = .finish
        },
        .whole(
            "empty",
            by(nothing: .takenAs(0..<0), size: .refused, digest: .wrong, both: .refused)
        ) { answer, _ in answer.body = [] },
        .whole(
            "the rest as the whole",
            by(nothing: .takenAs(70_000..<90_000), size: .refused, digest: .wrong, both: .refused)
        ) { answer, served in answer.body = Array(served.bytes[70_000...]) },
    ]

    private static let broken: [Answer] = [0, 1, 40_000, 65_535, 65_536, 65_537, 89_999].flatMap {
        count in
        [("FIN", WireAnswer.Ending.finish), ("RST", .reset)].map { name, ending in
            .whole("cut at \(count), \(name)", .cut) { answer, _ in answer.cut(at: count, ending) }
        }
    }

    private static let codings: [Answer] =
        [
            "gzip", "x-gzip", "deflate", "br", "zstd", "compress", "foo", "identity, gzip",
            "gzip, gzip", "GZIP",
        ].map { coding in
            .whole("Content-Encoding \(coding)", by(pinned: .taken, unpinned: .refused)) {
                answer, _ in answer.set("Content-Encoding", coding)
            }
        }
        + ["identity", "Identity", "", "identity, identity"].map { coding in
            .whole("Content-Encoding \(coding), plain", .taken) { answer, _ in
                answer.set("Content-Encoding", coding)
            }
        } + [
            .whole(
                "gzip indeed",
                by(nothing: .refused, size: .refused, digest: .wrong, both: .refused)
            ) { answer, served in
                answer.set("Content-Encoding", "gzip")
                answer.body = Gzip.encode(served.bytes)
            },
            .whole(
                "gzip indeed, cut",
                by(nothing: .refused, size: .refused, digest: .cut, both: .refused)
            ) { answer, served in
                answer.set("Content-Encoding", "gzip")
                answer.body = Gzip.encode(served.bytes)
                answer.cut(at: 40_000, .finish)
            },
        ]

    private static let types: [Answer] =
        ["text/html", "TEXT/HTML; charset=utf-8", "text/html;"].map { type in
            .whole("Content-Type \(type)", by(pinned: .taken, unpinned: .passing)) { answer, _ in
                answer.set("Content-Type", type)
            }
        }
        + ["text/plain", "application/json", "multipart/byteranges; boundary=x"].map { type in
            .whole("Content-Type \(type)", .taken) { answer, _ in answer.set("Content-Type", type) }
        } + [
            .whole("no Content-Type", .taken) { answer, _ in answer.remove("Content-Type") },
            .whole("Content-Type without a slash", .takenOrRefused) { answer, _ in
                answer.set("Content-Type", "html")
            },
        ]

    private static let validators: [Answer] =
        [
            .whole("two equal tags", .refused) { answer, _ in
                answer.fields += ["ETag: \"a\"", "ETag: \"a\""]
            },
            .whole("two tags", .refused) { answer, _ in
                answer.fields += ["ETag: \"a\"", "ETag: \"b\""]
            },
            .whole("two dates", .takenOrRefused) { answer, _ in
                answer.fields += [1, 2].map { "Last-Modified: Sat, 21 Nov 2026 03:00:0\($0) GMT" }
            },
            .whole("a Content-Range", .refused) { answer, _ in
                answer.set("Content-Range", "bytes 5-9/10")
            },
            .whole("two Content-Ranges", .refused) { answer, _ in
                answer.fields += ["Content-Range: bytes 0-9/10", "Content-Range: bytes 5-9/10"]
            },
            .whole("Repr-Digest", .taken) { answer, served in
                answer.set("Repr-Digest", Checksum.reprDigest(served.bytes))
            },
            .whole("a wrong Repr-Digest", by(pinned: .taken, unpinned: .wrong)) { answer, served in
                answer.set("Repr-Digest", Checksum.reprDigest(served.older))
            },
            .whole("a wrong Content-Digest", .taken) { answer, served in
                answer.set("Content-Digest", Checksum.reprDigest(served.older))
            },
        ]
        + ["sha-256=x", "sha-256=:AAAA:", "md5=:AAAA:, sha-999=:AA:", "\u{1}"].map { digest in
            .whole("Repr-Digest \(digest)", .takenOrRefused) { answer, _ in
                answer.set("Repr-Digest", digest)
            }
        }
        + ["v", "", "\"", "\"a", "\"a\"b\"", "w/\"a\"", "\"a b\"", "\u{E9}"].map { tag in
            .whole("ETag \(tag)", .takenOrRefused) { answer, _ in answer.set("ETag", tag) }
        }
        + [("long", String(repeating: "t", count: 8000)), ("empty", ""), ("wide", "é☃")].map {
            name, tag in
            .whole("a \(name) tag", .taken) { answer, _ in answer.set("ETag", "\"\(tag)\"") }
        }
        + ["Set-Cookie: a=b", "Location: /b.bin", "Retry-After: 99999999", "Refresh: 0;url=/b"].map
    {
        field in .whole(field, .taken) { answer, _ in answer.fields.append(field) }
    }

    private static let heads: [Answer] =
        [
            .whole("HTTP/1.1 100 before", .taken) { answer, _ in
                answer.before = "HTTP/1.1 100 Continue\r\n\r\n"
            },
            .whole("heads of 103 with another tag before", .taken) { answer, _ in
                answer.before = String(
                    repeating:
                        "HTTP/1.1 103 Early Hints\r\nETag: \"other\"\r\nContent-Length: 3\r\n\r\n",
                    count: 20)
            },
            .whole("101 before", .failed) { answer, _ in
                answer.before = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
                answer.ending = .finish
            },
            .whole("line ends without CR", .takenOrRefused) { answer, _ in answer.lineEnd = "\n" },
            .whole("200 KiB of header lines", .taken) { answer, _ in
                answer.fields += (0..<200).map { "X-\($0): \(String(repeating: "x", count: 1015))" }
            },
            .whole("a header line of 90 KiB", .taken) { answer, _ in
                answer.fields.append("X: " + String(repeating: "x", count: 90 << 10))
            },
            .whole("a header line of 110 KiB", .refused) { answer, _ in
                answer.fields.append("X: " + String(repeating: "x", count: 110 << 10))
            },
            .whole("270 KiB of header lines", .refused) { answer, _ in
                answer.fields += (0..<270).map { "X-\($0): \(String(repeating: "x", count: 1015))" }
            },
        ]
        + [
            "no colon here", "ETag : \"x\"", "X: a\r\n folded", ": no name", "X: a\u{0}b",
            "X\u{1}: y",
        ]
        .map { line in
            .whole("header line \(JSONText.quoted(line))", .takenOrFailed) { answer, _ in
                answer.fields.append(line)
            }
        }
        + [
            "HTTP/1.1 2OO OK", "HTTP/1.1 20 OK", "HTTP/9.9 200 OK", "HTTP/1.1 0200 OK",
            "HTTP/1.1  200 OK", "ICY 200 OK", "HTTP/1.1 200", "http/1.1 200 OK", "HTTP/1.1\t200 OK",
            "HTTP/2 200", "HTTP/1.1 -200 OK", "\u{FEFF}HTTP/1.1 200 OK",
        ].map { line in
            .whole("status line \(JSONText.quoted(line))", .takenOrFailed) { answer, _ in
                answer.status = line
                answer.ending = .finish
            }
        }
        + [
            ("nothing", ""), ("half a head", "HTTP/1.1 200 OK\r\nContent-Le"),
            ("another protocol", "SSH-2.0-OpenSSH_9.2\r\n"), ("bytes without a head", "hello"),
            ("half a status line", "HTTP/1."),
        ].flatMap { name, text in
            [("FIN", WireAnswer.Ending.finish), ("RST", .reset)].map { word, ending in
                .whole("\(name), \(word)", .failed) { answer, _ in
                    answer.raw = Array(text.utf8)
                    answer.ending = ending
                }
            }
        }
}
