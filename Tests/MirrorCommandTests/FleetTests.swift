import Glibc
import MirrorTestSupport
import Testing

/// Many machines and many processes, in small: what `scripts/fleet` tries with namespaces and services.
@Suite(.enabled(if: BuiltProgram.exists(Nginx.program)), .serialized, .timeLimit(.minutes(15)))
struct FleetTests {
    private func stage(
        _ body: @escaping @Sendable (Nginx, Playground) throws -> Void
    ) async throws {
        try await DetachedThread.run {
            let nginx = try Nginx()
            defer { nginx.stop() }
            let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
            defer { ground.remove() }
            try body(nginx, ground)
        }
    }

    /// Another root beside the first.
    private func root(_ number: Int, _ ground: Playground) throws -> Playground {
        try ground.folder.makeFolders(above: "root\(number)/.")
        return ground.with(root: Folder(ground.folder.full("root\(number)")))
    }

    private func bytes(_ number: Int, _ count: Int) -> [UInt8] {
        TestBytes.make(count, seed: UInt64(number + 1))
    }

    /// Puts files on the server; returns a manifest of them at a URL.
    private func manifest(
        _ sizes: [Int], _ nginx: Nginx, at url: String, _ ground: Playground, as name: String
    ) throws -> String {
        let resources = try sizes.enumerated().map { number, size in
            let bytes = bytes(number, size)
            try nginx.put("f\(number)", bytes)
            return """
                {"path":"Caches/d\(number % 7)/f\(number)","url":"\(url)/f\(number)",
                 "sha256":"\(Checksum.sha256(bytes))"}
                """
        }
        return try ground.write(
            manifest: "{\"name\":\"fleet\",\"resources\":[\(resources.joined(separator: ",\n"))]}",
            as: name)
    }

    private func isWhole(_ root: Folder, _ sizes: [Int]) -> Bool {
        sizes.enumerated().allSatisfy { number, size in
            root.read("Caches/d\(number % 7)/f\(number)") == bytes(number, size)
        }
    }

    @Test func theOriginOfASiteSendsEachSliceOnce() async throws {
        try await stage { nginx, ground in
            let sizes = [2_000_000, 300_000, 700, 256 << 10, 0]
            let path = try manifest(sizes, nginx, at: nginx.url("http"), ground, as: "m.json")
            let options = ["--rewrite", "\(nginx.url("http"))/=\(nginx.cache)/"]
            let grounds = try (0..<5).map { try root($0, ground) }
            let runs = try grounds.map { try $0.sync(path, options) }
            for (run, ground) in zip(runs, grounds) {
                let result = run.wait()
                #expect(result.ending == .exited(0), "\(result)")
                #expect(isWhole(ground.root, sizes))
            }
            let asked = nginx.requests().filter { $0.contains(" /f") && !$0.hasSuffix(" 416") }
            #expect(asked.count == Set(asked).count && !asked.isEmpty, "\(asked)")
        }
    }

    @Test func whatOneFetchedOthersGetFromTheStore() async throws {
        try await stage { nginx, ground in
            let sizes = [1_000_000, 3000, 1]
            let path = try manifest(sizes, nginx, at: nginx.url("http"), ground, as: "m.json")
            let store = nginx.url("http")
            let first = try root(0, ground).sync(path, ["--store-push", store]).wait()
            #expect(first.ending == .exited(0), "\(first)")
            #expect(first.summary("pushed") == "3")
            let again = try root(1, ground).sync(path, ["--store-push", store]).wait()
            #expect(again.ending == .exited(0), "\(again)")
            let puts = nginx.requests().filter { $0.contains(" PUT ") }
            #expect(puts.count == 3, "nothing is sent twice: \(puts)")
            let gone = try manifest(sizes, nginx, at: store + "/gone", ground, as: "gone.json")
            let other = try root(2, ground)
            let last = try other.sync(gone, ["--store", store]).wait()
            #expect(last.ending == .exited(0), "\(last)")
            #expect(isWhole(other.root, sizes))
        }
    }

    /// Four processes, of which one is killed; then three, which ask for nothing that is there.
    @Test func processesShareARootAndOthersFollow() async throws {
        try await stage { nginx, ground in
            let sizes = (0..<160).map { $0 == 0 ? 3_000_000 : 200 + $0 }
            for number in sizes.indices {
                try nginx.put("slow/f\(number)", bytes(number, sizes[number]))
            }
            let path = try manifest(
                sizes, nginx, at: nginx.url("http") + "/slow", ground, as: "m.json")
            let runs = try (1...4).map { try ground.sync(path, ["--shard", "\($0)/4"]) }
            Pause.milliseconds(300)
            runs[2].signal(SIGKILL)
            for (number, run) in runs.enumerated() {
                let result = run.wait()
                #expect(number == 2 || result.ending == .exited(0), "\(result)")
                if number != 2 { #expect(result.summary("shard") == "\(number + 1)/4") }
            }
            let second = try ground.sync(path, ["--shard", "3/4"]).wait()
            #expect(second.ending == .exited(0), "\(second)")
            #expect(isWhole(ground.root, sizes))
            let others = try (1...3).map {
                try ground.sync(path, ["--shard", "\($0)/3", "--prune"])
            }
            for run in others {
                let result = run.wait()
                #expect(result.ending == .exited(0), "\(result)")
                #expect(result.summary("requests") == "0")
                #expect(result.summary("removed") == "0")
            }
            let status = try ground.start("status").wait()
            #expect(status.output.contains("160 files"), "\(status)")
            let verify = try ground.start("verify").wait()
            #expect(verify.ending == .exited(0), "\(verify)")
            #expect(ground.parts().isEmpty)
        }
    }
}
