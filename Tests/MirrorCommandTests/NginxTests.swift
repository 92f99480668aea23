import MirrorTestSupport
import Testing

/// A real server: what nginx does with ranges, conditions and HTTP/2, and not what we think it does.
@Suite(
    .enabled(if: BuiltProgram.exists(Nginx.program)),
    .serialized, .timeLimit(.minutes(15)))
struct NginxTests {
    private func manifest(_ url: String, _ names: [String], extra: String = "") -> String {
        let resources = names.map { "{\"path\":\"Caches/\($0)\",\"url\":\"\($0)\"\(extra)}" }
        return """
            {"name":"n","base":"\(url)/","resources":[\(resources.joined(separator: ",\n"))]}
            """
    }

    /// Runs on a thread of its own with a server and a playground that are cleared away.
    private func stage(
        in parent: String = "/tmp", _ body: @escaping @Sendable (Nginx, Playground) throws -> Void
    ) async throws {
        try await DetachedThread.run {
            let nginx = try Nginx()
            defer { nginx.stop() }
            let ground = try Playground(program: BuiltProgram.path(of: "mirror"), in: parent)
            defer { ground.remove() }
            try body(nginx, ground)
        }
    }

    @Test(arguments: [("http", "HTTP/1.1"), ("https", "HTTP/2.0")])
    func secondSyncGetsOnly304(_ scheme: String, _ version: String) async throws {
        try await stage { nginx, ground in
            let sizes = [0, 1, 4096, 70_000, 300_000]
            for size in sizes { try nginx.put("f\(size)", TestBytes.make(size, seed: 3)) }
            let path = try ground.write(
                manifest: manifest(nginx.url(scheme), sizes.map { "f\($0)" }))
            let options = scheme == "https" ? ["--cacert", nginx.certificate] : []
            let first = try ground.sync(path, options).wait()
            #expect(first.ending == .exited(0), "\(first)")
            for size in sizes {
                #expect(ground.root.read("Caches/f\(size)") == TestBytes.make(size, seed: 3))
            }
            let second = try ground.sync(path, options).wait()
            #expect(second.ending == .exited(0), "\(second)")
            #expect(second.summary("revalidated") == "5")
            let requests = nginx.requests(atLeast: 10)
            #expect(requests.count == 10)
            #expect(requests.allSatisfy { $0.hasPrefix(version) }, "\(requests)")
            #expect(requests.filter { $0.hasSuffix(" 304") }.count == 5)
        }
    }

    /// A client certificate opens its origin, and no other origin sees it.
    @Test func aClientCertificateIsShownToItsOriginOnly() async throws {
        try await stage { nginx, ground in
            let bytes = TestBytes.make(70_000, seed: 3)
            try nginx.put("a.bin", bytes)
            let text = """
                {"name":"n","resources":[
                {"path":"Caches/own","url":"\(nginx.guarded)/a.bin"},
                {"path":"Caches/away","url":"\(nginx.guarded)/away/x"},
                {"path":"Caches/back","url":"\(nginx.asking)/back/x"},
                {"path":"Caches/mirror","url":"\(nginx.guarded)/gone/x",
                 "mirrors":["\(nginx.asking)/a.bin"]}]}
                """
            let path = try ground.write(manifest: text)
            let trust = ["--cacert", nginx.certificate, "--retries", "0"]
            let without = try ground.sync(path, trust).wait()
            #expect(without.ending == .exited(1), "\(without)")
            #expect(without.output.contains("client certificate"), "\(without)")
            #expect(
                without.output.contains("Give one with --cert \(nginx.guarded)=FILE."), "\(without)"
            )
            let before = nginx.certificates(atLeast: 1).count

            let own = [
                "--cert", "\(nginx.guarded)=\(nginx.certificate)", "--key",
                "\(nginx.guarded)=\(nginx.key)",
            ]
            let with = try ground.sync(path, trust + own).wait()
            #expect(with.ending == .exited(0), "\(with)")
            for name in ["own", "away", "back", "mirror"] {
                #expect(ground.root.read("Caches/\(name)") == bytes)
            }
            let seen = nginx.certificates(atLeast: before + 7).dropFirst(before)
            #expect(seen.contains("\(nginx.guarded)/a.bin SUCCESS"))
            #expect(seen.contains("\(nginx.asking)/a.bin NONE"))
            for line in seen {
                let isOwn = line.hasPrefix(nginx.guarded + "/")
                #expect(line.hasSuffix(isOwn ? " SUCCESS" : " NONE"), "\(line)")
            }
            // A probe gives the advice that a sync gives.
            let probe = try ground.start(
                "probe", "\(nginx.guarded)/a.bin", "--cacert", nginx.certificate
            ).wait()
            #expect(probe.ending == .exited(1), "\(probe)")
            #expect(
                probe.errors.contains("Give one with --cert \(nginx.guarded)=FILE."), "\(probe)")
        }
    }

    /// A certificate that cannot be used is an error at once, and nothing asks for a password.
    @Test func aClientCertificateWithoutItsKeyIsRefused() async throws {
        try await stage { nginx, ground in
            try nginx.put("a.bin", [1])
            let path = try ground.write(
                manifest: manifest(nginx.guarded, ["a.bin"]))
            let missing = try ground.sync(path, ["--cert", "\(nginx.guarded)=/nowhere"]).wait()
            #expect(missing.ending == .exited(64), "\(missing)")
            let plain = nginx.url("http")
            let insecure = try ground.sync(path, ["--cert", "\(plain)=\(nginx.certificate)"]).wait()
            #expect(insecure.ending == .exited(64), "\(insecure)")
        }
    }

    @Test(arguments: ["http", "https"])
    func nextRunResumesAKilledRun(_ scheme: String) async throws {
        try await stage { nginx, ground in
            let bytes = TestBytes.make(4 << 20, seed: 4)
            try nginx.put("slow/big", bytes)
            let path = try ground.write(manifest: manifest(nginx.url(scheme), ["slow/big"]))
            let options = scheme == "https" ? ["--cacert", nginx.certificate] : []
            let killed = try ground.sync(path, options)
            #expect(killed.wait(untilPartHas: 5 << 19, in: ground))
            killed.signal(9)
            #expect(killed.wait().ending == .signalled(9))
            #expect(ground.tree().isEmpty)

            let resumed = try ground.sync(path, options).wait()
            #expect(resumed.ending == .exited(0), "\(resumed)")
            #expect(ground.root.read("Caches/slow/big") == bytes)
            #expect(resumed.summary("resumed") == "1")
            #expect(ground.parts().isEmpty)
            let last = try #require(nginx.requests().last)
            #expect(last.contains("bytes=") && last.hasSuffix(" 206"), "\(last)")
        }
    }

    @Test func newVersionIsNotSplicedOntoAPart() async throws {
        try await stage { nginx, ground in
            let new = TestBytes.make(4 << 20, seed: 6)
            try nginx.put("slow/big", TestBytes.make(4 << 20, seed: 5))
            let path = try ground.write(manifest: manifest(nginx.url("http"), ["slow/big"]))
            let killed = try ground.sync(path)
            #expect(killed.wait(untilPartHas: 5 << 19, in: ground))
            killed.signal(9)
            _ = killed.wait()
            try nginx.put("slow/big", new, modified: 1_500_000_001)

            let second = try ground.sync(path).wait()
            #expect(second.ending == .exited(0), "\(second)")
            #expect(ground.root.read("Caches/slow/big") == new)
        }
    }

    @Test func unknownCertificateIsRefused() async throws {
        try await stage { nginx, ground in
            try nginx.put("a.bin", TestBytes.make(1000, seed: 1))
            let path = try ground.write(manifest: manifest(nginx.url("https"), ["a.bin"]))
            let result = try ground.sync(path, ["--retries", "0"]).wait()
            #expect(result.ending == .exited(1), "\(result)")
            #expect(
                result.events.contains { $0["code"] == .string("tls-failed") }, "\(result.output)")
            #expect(nginx.requests().isEmpty)
        }
    }

    @Test func tlsRedirectToPlainIsRefused() async throws {
        try await stage { nginx, ground in
            try nginx.put("a.bin", TestBytes.make(1000, seed: 1))
            let path = try ground.write(manifest: manifest(nginx.url("https"), ["down/a.bin"]))
            let result = try ground.sync(path, ["--cacert", nginx.certificate]).wait()
            #expect(result.ending == .exited(1), "\(result)")
            #expect(
                result.events.contains { $0["code"] == .string("redirect-refused") },
                "\(result.output)")
            #expect(nginx.requests(atLeast: 1).count == 1)
        }
    }

    @Test func tenThousandSmallFilesCostNothingAgain() async throws {
        try await stage(in: Folder.memory) { nginx, ground in
            let all = TestBytes.make(20_000, seed: 7)
            var resources: [String] = []
            for number in 0..<10_000 {
                let bytes = Array(all[number..<number + 100 + number % 4000])
                try nginx.put("d\(number % 50)/f\(number)", bytes)
                let pin = number % 2 == 0 ? ",\"sha256\":\"\(Checksum.sha256(bytes))\"" : ""
                resources.append(
                    "{\"path\":\"Caches/d\(number % 50)/f\(number)\"\(pin),"
                        + "\"url\":\"d\(number % 50)/f\(number)\"}")
            }
            let path = try ground.write(
                manifest: "{\"name\":\"n\",\"base\":\"\(nginx.url("http"))/\",\"resources\":["
                    + resources.joined(separator: ",\n") + "]}")
            let first = try ground.sync(path).wait(seconds: 120)
            #expect(first.ending == .exited(0), "\(first.errors)")
            #expect(first.summary("fetched") == "10000")
            for number in stride(from: 0, to: 10_000, by: 97) {
                #expect(
                    ground.root.read("Caches/d\(number % 50)/f\(number)")
                        == Array(all[number..<number + 100 + number % 4000]))
            }
            let second = try ground.sync(path).wait(seconds: 120)
            let requests = nginx.requests()
            #expect(second.ending == .exited(0), "\(second.errors)")
            #expect(second.summary("kept") == "5000")
            #expect(second.summary("revalidated") == "5000")
            #expect(second.summary("requests") == "5000")
            #expect(requests.filter { $0.hasSuffix(" 304") }.count == 5000)
        }
    }
}

extension Command {
    /// Waits until the one part of a tree is so long; false when that does not happen.
    func wait(untilPartHas bytes: Int, in ground: Playground) -> Bool {
        for _ in 0..<3000 {
            if let part = ground.parts().first, let size = ground.root.size(part), size >= bytes {
                return true
            }
            Pause.milliseconds(5)
        }
        return false
    }
}
