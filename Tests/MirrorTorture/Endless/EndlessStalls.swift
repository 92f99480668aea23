internal import MirrorTestSupport

/// Servers that say too little, or nothing, or send their client around.
extension EndlessAnswer {
    static let stalls: [EndlessAnswer] = [
        EndlessAnswer("no answer") { $0.reply = [.hold] },
        EndlessAnswer("half a head") { $0.reply = [text("HTTP/1.1 200 OK\r\nContent-Le"), .hold] },
        EndlessAnswer("a head without its end") { $0.reply = [text(ok), .hold] },
        EndlessAnswer("a byte of the head a second") {
            $0.reply = [drip(ok + String(repeating: "X: y\r\n", count: 100))]
        },
        EndlessAnswer("a header line a second") {
            $0.reply = [text(ok)] + (0..<60).map { text("X-\($0): y\r\n") }.spaced(by: 1000)
        },
        EndlessAnswer("1xx a second") {
            $0.reply = (0..<60).map { _ in text("HTTP/1.1 102 Processing\r\n\r\n") }
                .spaced(by: 1000)
        },
        EndlessAnswer("a head and no body") {
            $0.reply = [text(ok + "Content-Length: 1048576\r\n\r\n"), .hold]
        },
        EndlessAnswer("half a body") {
            $0.reply = [text(ok + "Content-Length: 1048576\r\n\r\n"), .send(block), .hold]
        },
        EndlessAnswer("half a body, over four connections") {
            $0.reply = [text(ok + "Content-Length: 4194304\r\n\r\n"), .send(block), .hold]
            $0.options = ["--segments", "4"]
        },
        EndlessAnswer("a byte of the body a second, over four connections") {
            $0.reply = [
                text(ok + "Content-Length: 4194304\r\n\r\n"),
                drip(String(repeating: "x", count: 60)),
            ]
            $0.options = ["--segments", "4"]
        },
        EndlessAnswer("a byte of the body a second") {
            $0.reply = [
                text(ok + "Content-Length: 1048576\r\n\r\n"),
                drip(String(repeating: "x", count: 60)),
            ]
        },
        EndlessAnswer("a kibibyte in two seconds") {
            $0.reply = [
                text(ok + "Content-Length: 1048576\r\n\r\n"),
                .trickle([UInt8](repeating: 120, count: 60 << 10), count: 1024, milliseconds: 2000),
            ]
        },
        EndlessAnswer("a chunk of a byte a second") {
            $0.reply =
                [text(ok + "Transfer-Encoding: chunked\r\n\r\n")]
                + (0..<60).map { _ in text("1\r\nx\r\n") }.spaced(by: 1000)
        },
        EndlessAnswer("all chunks but the last") {
            $0.reply = [text(ok + "Transfer-Encoding: chunked\r\n\r\n"), .send(chunk), .hold]
        },
        EndlessAnswer("trailers without end") {
            $0.reply = [
                text(ok + "Transfer-Encoding: chunked\r\n\r\n"), .send(chunk),
                text("0\r\nX: y\r\n"),
                .hold,
            ]
        },
        EndlessAnswer("slow, but not too slow, with a deadline") {
            $0.options = ["--deadline", "6s"]
            $0.seconds = 6
            $0.reply = [
                text(ok + "Content-Length: 1048576\r\n\r\n"),
                .trickle(block + block, count: 2048, milliseconds: 500),
            ]
        },
    ]
}
