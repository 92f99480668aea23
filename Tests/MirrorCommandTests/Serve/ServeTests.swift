import Glibc
import MirrorTestSupport
import Testing

/// A served tree as clients see it: real sockets, the built program.
@Suite(.timeLimit(.minutes(10))) struct ServeTests {
    private static let text = "0123456789"
    private static let hex = Checksum.sha256(Array(text.utf8))
    private static let large = TestBytes.make(5_000_000, seed: 7)

    private func served(
        _ more: [(String, [UInt8])] = [], under tool: [String] = []
    ) async throws -> ServedRoot {
        let stage = try SyncedStage()
        let files = [("Documents/a b.txt", Array(Self.text.utf8))] + more
        try await stage.sync(
            files.enumerated().map { stage.entry($1.0, $1.1, url: "source\($0)") })
        return try ServedRoot(stage, under: tool)
    }

    @Test func aFileHasItsDigestInThreePlaces() async throws {
        let root = try await served()
        defer { root.end() }
        let whole = try await root.answer("GET /Documents/a%20b.txt")
        #expect(whole.status == "200")
        #expect(whole.body == Self.text)
        #expect(whole["ETag"] == "\"\(Self.hex)\"")
        #expect(whole["Content-Length"] == "10")
        #expect(whole["Repr-Digest"] == Checksum.reprDigest(Array(Self.text.utf8)))
        #expect(whole["Date"] != nil)
        let stored = try await root.answer("GET /cas/\(Self.hex)")
        #expect(stored.body == Self.text)
        #expect(stored["Cache-Control"]?.contains("immutable") == true)
    }

    @Test func headSaysTheSameWithoutABody() async throws {
        let root = try await served()
        defer { root.end() }
        let head = try await root.answer("HEAD /Documents/a%20b.txt")
        #expect(head.status == "200")
        #expect(head.body == "")
        #expect(head["Content-Length"] == "10")
        #expect(head["ETag"] == "\"\(Self.hex)\"")
    }

    @Test func conditionsAndRangesAreAnswered() async throws {
        let root = try await served()
        defer { root.end() }
        let tag = "\"\(Self.hex)\""
        let rows: [([String], String, String)] = [
            (["Range: bytes=3-5"], "206", "345"), (["Range: bytes=-2"], "206", "89"),
            (["Range: bytes=8-100"], "206", "89"), (["Range: bytes=10-"], "416", ""),
            (["Range: bytes=3-5", "If-Range: \(tag)"], "206", "345"),
            (["Range: bytes=3-5", "If-Range: \"x\""], "200", Self.text),
            (["Range: bytes=0-1,4-5"], "200", Self.text),
            (["If-None-Match: \"x\"", "If-None-Match: \(tag)"], "304", ""),
            (["If-Match: \"x\""], "412", ""), (["If-Match: \(tag)"], "200", Self.text),
        ]
        for (fields, status, body) in rows {
            let lines = ["GET /Documents/a%20b.txt HTTP/1.1", "Host: localhost"] + fields
            let answer = try await root.raw(
                (lines + ["Connection: close"]).joined(separator: "\r\n") + "\r\n\r\n")
            #expect(answer.status == status, "\(fields)")
            if status.hasPrefix("20") { #expect(answer.body == body, "\(fields)") }
            #expect(answer["ETag"] == tag, "\(fields)")
        }
        let part = try await root.answer("GET /Documents/a%20b.txt", "Range: bytes=3-5")
        #expect(part["Content-Range"] == "bytes 3-5/10")
        #expect(part["Content-Length"] == "3")
        let behind = try await root.answer("GET /Documents/a%20b.txt", "Range: bytes=99-")
        #expect(behind["Content-Range"] == "bytes */10")
        let unchanged = try await root.answer("GET /Documents/a%20b.txt", "If-None-Match: \(tag)")
        #expect(unchanged.body == "")
        #expect(unchanged["Content-Length"] == "10", "\(unchanged)")
    }

    @Test func nothingElseOfTheRootIsServed() async throws {
        let root = try await served()
        defer { root.end() }
        let folder = root.stage.ground.root
        try folder.write("Documents/own.txt", [1])
        try folder.write("tmp/x.bin.0123456789abcdef0123456789abcdef.part", [1])
        symlink("/etc/passwd", folder.full("Documents/link"))
        try root.stage.ground.folder.write("outside", [1])
        let paths = [
            "/Documents/own.txt", "/tmp/x.bin.0123456789abcdef0123456789abcdef.part",
            "/Documents/link", "/.mirror/index.sqlite", "/.mirror/", "/Documents/../../outside",
            "/Documents/%2e%2e/%2e%2e/outside", "/Documents/..%2f..%2foutside", "/outside",
            "/etc/passwd", "//etc/passwd", "/Documents/a%20b.txt%00",
            "/cas/" + String(repeating: "0", count: 64),
        ]
        for path in paths {
            let answer = try await root.answer("GET \(path)")
            #expect(answer.status == "404", "\(path)")
        }
        #expect(try await root.answer("GET /Documents/%zz").status == "400")
        for method in ["PUT", "DELETE", "OPTIONS", "PATCH"] {
            let answer = try await root.answer("\(method) /Documents/a%20b.txt")
            #expect(answer.status == "405", "\(method)")
            #expect(answer["Allow"] == "GET, HEAD")
        }
        let post = try await root.raw(
            "POST /Documents/own.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc")
        #expect(post.status == "405")
        #expect(folder.read("Documents/own.txt") == [1])
    }

    /// A row whose file is gone, or whose place is taken by something else, is no way out of the tree.
    @Test func aServedLinkIsNotFollowed() async throws {
        let root = try await served()
        defer { root.end() }
        let path = root.stage.ground.root.full("Documents/a b.txt")
        unlink(path)
        #expect(try await root.answer("GET /Documents/a%20b.txt").status == "404")
        symlink("/etc/passwd", path)
        #expect(try await root.answer("GET /Documents/a%20b.txt").status == "404")
        unlink(path)
        mkfifo(path, 0o644)
        #expect(try await root.answer("GET /Documents/a%20b.txt").status == "404")
        unlink(path)
        mkdir(path, 0o755)
        #expect(try await root.answer("GET /Documents/a%20b.txt").status == "404")
    }

    @Test func onLoopbackAForeignHostNameIsRefused() async throws {
        let root = try await served()
        defer { root.end() }
        let answer = try await root.raw(
            "GET / HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n")
        #expect(answer.status == "421")
        #expect(
            try await root.raw("GET / HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n\r\n")
                .status == "200")
    }

    @Test func foldersHaveListings() async throws {
        let root = try await served([
            ("Documents/<b>/deep/x", [1]), ("Documents/<b>/y", [1, 2]), ("Caches/z", [3]),
        ])
        defer { root.end() }
        try root.stage.ground.root.write("Documents/own.txt", [1])
        let top = try await root.answer("GET /", "Accept: application/json")
        #expect(top["Content-Type"] == "application/json")
        let names = { (reply: ServedReply) -> [String] in
            (JSONValue(reply.body)?["entries"]?.elements ?? []).map {
                "\($0["name"]?.word ?? "") \($0["type"]?.word ?? "")"
            }
        }
        #expect(names(top) == ["Caches folder", "Documents folder"])
        let documents = try await root.answer("GET /Documents/", "Accept: application/json")
        #expect(names(documents) == ["<b> folder", "a b.txt file"])
        #expect(documents.body.contains("\"sha256\":\"\(Self.hex)\""))
        let html = try await root.answer("GET /Documents/")
        #expect(html["Content-Type"] == "text/html; charset=utf-8")
        #expect(html.body.contains("<a href=\"./%3Cb%3E/\">&lt;b&gt;/</a>"), "\(html)")
        let moved = try await root.answer("GET /Documents/%3Cb%3E")
        #expect(moved.status == "301")
        #expect(moved["Location"] == "/Documents/%3Cb%3E/")
        let beneath = try await root.answer("GET /Documents/%3Cb%3E/", "Accept: application/json")
        #expect(names(beneath) == ["deep folder", "y file"])
        #expect(try await root.answer("GET /tmp/").status == "200")
        #expect(try await root.answer("GET /Documents/none/").status == "404")
    }

    @Test func aListingOfManyFilesHasPages() async throws {
        let stage = try SyncedStage()
        let count = 5_003
        try stage.ground.folder.makeFolders(above: "from/.")
        for number in 0..<count { try stage.ground.folder.write("from/\(number)", [1]) }
        try await stage.sync(
            (0..<count).map { number in
                // One in ten is in a folder of its own.
                let path = number.isMultiple(of: 10) ? "\(number)/x" : "\(number)"
                return "{ \"path\": \"Caches/n/\(path)\", \"url\": \"from/\(number)\" }"
            })
        let root = try ServedRoot(stage)
        defer { root.end() }
        var seen: [String] = []
        var next: String? = ""
        var pages = 0
        while let query = next {
            let page = try await root.answer(
                "GET /Caches/n/\(query)", "Accept: application/json")
            seen += (JSONValue(page.body)?["entries"]?.elements ?? []).compactMap {
                $0["name"]?.word
            }
            next = page["Link"].map { String($0.dropFirst().prefix { $0 != ">" }) }
            pages += 1
            try #require(pages < 4)
        }
        #expect(pages == 2)
        #expect(seen.count == count)
        #expect(Set(seen) == Set((0..<count).map(String.init)))
    }

    @Test(arguments: [(SIGTERM, 143), (SIGINT, 130)] as [(Int32, Int32)])
    func aSignalEndsTheServerDespiteOpenConnections(_ signal: Int32, _ code: Int32)
        async throws
    {
        let root = try await served([("Caches/large", Self.large)])
        defer { root.stage.end() }
        let idle = LoopbackClient(port: root.port)
        let slow = try #require(LoopbackClient(port: root.port, receiveBuffer: 4096))
        slow.send("GET /Caches/large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(slow.read(10).count == 10)
        root.serve.signal(signal)
        let serve = root.serve
        // The program ends itself by force after a second, with other words.
        let result = try await DetachedThread.run { serve.wait(seconds: 20) }
        #expect(result.ending == .exited(code), "\(result)")
        #expect(result.errors == "", "\(result)")
        #expect(result.output == root.url + "/\n")
        withExtendedLifetime(idle) {}
        let entries = root.stage.ground.root.entries(beneath: ".mirror").map(\.name)
        #expect(!entries.contains { $0.hasSuffix("-wal") || $0.hasSuffix("-shm") }, "\(entries)")
    }

    @Test func whatCannotBeListenedAtIsSaid() async throws {
        let root = try await served()
        defer { root.end() }
        let taken = try await root.stage.run(["serve", "--listen", "127.0.0.1:\(root.port)"])
        #expect(taken.ending == .exited(64))
        #expect(taken.errors.contains("another program listens there. Choose another port;"))
        // Whoever listens at all addresses needs a port that is free at each.
        let everywhere = try await root.stage.run(["serve", "--listen", "0.0.0.0:\(root.port)"])
        #expect(everywhere.ending == .exited(64))
        #expect(everywhere.errors.contains("there is no authentication"), "\(everywhere)")
        let name = try await root.stage.run(["serve", "--listen", "example.org:80"])
        #expect(name.ending == .exited(64))
        let none = try await root.stage.run([
            "serve", "--root", root.stage.ground.folder.full("nothing"),
        ])
        #expect(none.ending == .exited(73), "\(none)")
    }

    @Test func aHeadWithoutEndIsRefused() async throws {
        let root = try await served()
        defer { root.end() }
        let long =
            "GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "a", count: 100_000))"
        let answer = try await root.raw(long + "\r\n\r\n")
        #expect(["413", "414", "431", ""].contains(answer.status), "\(answer)")
        #expect(try await root.answer("GET /").status == "200")
    }

    @Test func oneAddressGetsOnlySoManyConnections() async throws {
        let root = try await served()
        defer { root.end() }
        let clients = (0..<300).compactMap { _ in LoopbackClient(port: root.port) }
        let request = "GET /Documents/a%20b.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
        let answered = try await DetachedThread.run {
            for client in clients { client.send(request) }
            return clients.count { !$0.read(1000).isEmpty }
        }
        #expect((200...256).contains(answered), "\(answered)")
    }

    /// Connections wait for their turn where their files could not all be open.
    @Test func withFewDescriptorsAServerAnswersInTurn() async throws {
        let root = try await served(under: ["/bin/sh", "-c", "ulimit -n 64; exec \"$@\"", "sh"])
        defer { root.end() }
        let clients = (0..<60).compactMap { _ in LoopbackClient(port: root.port) }
        let request =
            "GET /Documents/a%20b.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        let answers = try await DetachedThread.run {
            clients.map { client in
                client.send(request)
                return String(decoding: client.readAll().prefix(15), as: UTF8.self)
            }
        }
        #expect(answers == Array(repeating: "HTTP/1.1 200 OK", count: 60))
    }

    /// RFC 9112 §3.2: a server answers 400 to them.
    @Test(arguments: [
        ("HTTP/1.1", "", "400"), ("HTTP/1.1", "Host: localhost\r\nHost: localhost\r\n", "400"),
        ("HTTP/1.1", "Host: localhost\r\n", "200"), ("HTTP/1.0", "", "200"),
    ])
    func aRequestNamesOneHost(version: String, hosts: String, status: String) async throws {
        let root = try await served()
        defer { root.end() }
        let reply = try await root.raw("GET / \(version)\r\n\(hosts)Connection: close\r\n\r\n")
        #expect(reply.status == status)
    }

    @Test func aMissingFolderHasNoFurtherPage() async throws {
        let root = try await served([("Documents/deep/x", [1])])
        defer { root.end() }
        #expect(try await root.answer("GET /Documents/deep/?after=zz").status == "200")
        #expect(try await root.answer("GET /Documents/nowhere/?after=zz").status == "404")
    }
}
