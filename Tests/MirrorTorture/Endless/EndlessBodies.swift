internal import MirrorTestSupport

/// Bodies without end, and those that would have none if they were unpacked.
extension EndlessAnswer {
    static let endlessBodies: [EndlessAnswer] =
        [
            ("chunked", "Transfer-Encoding: chunked\r\n", chunk), ("to the end", "", block),
            ("of 4 EiB", "Content-Length: 4611686018427387904\r\n", block),
            ("of 2^63 and more", "Content-Length: 9223372036854775808\r\n", block),
        ].flatMap { name, framing, bytes -> [EndlessAnswer] in
            let reply = [text(ok + framing + "\r\n"), .endless(bytes)]
            return [
                (" of a declared size", ",\"size\":\(declared)", [String]()),
                (
                    " of a declared digest", ",\"sha256\":\"\(Checksum.sha256([1]))\"",
                    ["--max-size", "\(declared)"]
                ),
                (" under --max-size", "", ["--max-size", "\(declared)"]),
            ].map { kind, keys, options in
                EndlessAnswer("an endless body " + name + kind) {
                    $0.reply = reply
                    $0.keys = keys
                    $0.options = options
                    $0.bytes = declared + allowance
                }
            }
        } + [
            EndlessAnswer("an endless body under --max-transfer") {
                $0.reply = [text(ok + "\r\n"), .endless(block)]
                $0.options = ["--max-transfer", "\(declared)"]
                $0.bytes = declared + (320 << 10)
            },
            EndlessAnswer("chunk extensions without end") {
                $0.reply = [text(ok + "Transfer-Encoding: chunked\r\n\r\n1;"), .endless(block)]
            },
            EndlessAnswer("a chunk of a byte with 8 KiB of extensions") {
                let extension8 = Array("1;\(String(repeating: "x", count: 8192))\r\nx\r\n".utf8)
                $0.reply = [text(ok + "Transfer-Encoding: chunked\r\n\r\n"), .endless(extension8)]
                $0.options = ["--max-size", "\(declared)", "--deadline", "8s"]
                $0.seconds = 8
                $0.bytes = declared + allowance
            },
        ]

    static let bombs: [EndlessAnswer] =
        ["gzip", "deflate", "br", "gzip, gzip, gzip", "zstd"].flatMap { coding in
            [
                ("of a declared size", ",\"size\":\(declared)"),
                ("of a declared digest", ",\"sha256\":\"\(Checksum.sha256([1]))\""),
            ].map { kind, keys in
                EndlessAnswer("a bomb in \(coding) \(kind)") {
                    $0.reply = [
                        text(ok + "Content-Encoding: \(coding)\r\nContent-Length: 700000\r\n\r\n"),
                        .send(Gzip.bomb(700_000)), .hold,
                    ]
                    $0.keys = keys
                    $0.bytes = declared + allowance
                }
            }
        } + [
            EndlessAnswer("a bomb as a transfer coding") {
                $0.reply = [
                    text(ok + "Transfer-Encoding: gzip, chunked\r\n\r\nAAE60\r\n"),
                    .send(Gzip.bomb(700_000)), text("\r\n0\r\n\r\n"), .hold,
                ]
                $0.bytes = declared + allowance
            }
        ]
}

extension Gzip {
    /// Bytes that a decoder of gzip makes two hundred times as many of: fixed codes for 258 bytes at
    /// a distance of one, 13 bits each (RFC 1951 §3.2.6).
    static func bomb(_ count: Int) -> [UInt8] {
        var bits = BitWriter(bytes: [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])
        // A block of fixed codes that is not the last, and the literal 0.
        bits.add([0, 1, 0] + [0, 0, 1, 1, 0, 0, 0, 0])
        while bits.bytes.count < count { bits.add([1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0]) }
        return Array(bits.bytes.prefix(count))
    }

    private struct BitWriter {
        var bytes: [UInt8]
        private var filled: UInt8 = 8

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func add(_ bits: [UInt8]) {
            for bit in bits {
                if filled == 8 {
                    bytes.append(0)
                    filled = 0
                }
                bytes[bytes.count - 1] |= bit << filled
                filled += 1
            }
        }
    }
}
