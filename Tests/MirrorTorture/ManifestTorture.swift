internal import MirrorTestSupport

/// Hostile manifests: each is refused with a position, quickly, and before anything is touched.
enum ManifestTorture: TortureClass {
    static let name = "R7"
    static let title = "hostile manifests (JSON, XML, Metalink)"
    static let trials = 10_000
    /// Processor time in seconds and memory in bytes that a refusal may take.
    private static let secondsLimit = 1.0
    private static let memoryLimit = 64 << 20

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        var tally = Tally()
        let shelf = MemoryShelf()
        shelf.put("/a", Array("a".utf8))
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer { server.stop() }
        let ground = try Playground(program: program, in: Folder.memory)
        defer { ground.remove() }
        // Whichever host a manifest names, a request would come here.
        let proxied =
            ["/usr/bin/env"]
            + ["http_proxy", "https_proxy", "all_proxy"].map { "\($0)=\(server.url)" }
        var most = (memory: 0, seconds: 0.0)
        let manifests = HostileManifests(url: server.url + "/a").all.spread(trials)
        for manifest in manifests {
            let path = ground.folder.full("manifest")
            try ground.folder.write("manifest", manifest.bytes)
            let result = try ground.start(["sync", path], under: proxied).wait(seconds: 30)
            most = (
                max(most.memory, result.peakMemory), max(most.seconds, result.processorSeconds)
            )
            var wrong: [String] = []
            if result.ending != .exited(65) { wrong.append("\(result.ending)") }
            if !hasPosition(result.errors, path) {
                wrong.append("no position: \(result.errors.prefix(200))")
            }
            if server.connections > 0 { wrong.append("\(server.connections) connections") }
            let files = ground.root.entries().map(\.name)
            if !files.isEmpty { wrong.append("made \(files.prefix(4))") }
            if result.processorSeconds >= secondsLimit {
                wrong.append("\(result.processorSeconds) s")
            }
            // A child is charged with what its parent held: a test runner is larger than the limit.
            if result.peakMemory >= memoryLimit, result.peakMemory > ownMemory {
                wrong.append("\(result.peakMemory >> 10) KiB")
            }
            tally.count(manifest.title, wrong)
            // One that was taken does not count against those after it.
            if !files.isEmpty {
                ground.root.remove()
                try ground.folder.makeFolders(above: "root/.")
            }
        }
        let kinds = ["JSON", "XML", "Metalink"].map { kind in
            "\(manifests.count { $0.title.hasPrefix(kind + " ") }) \(kind)"
        }
        tally.notes.append(kinds.joined(separator: ", "))
        tally.notes.append(
            "most processor time \(Int(most.seconds * 1000)) ms, most memory "
                + "\(most.memory >> 20) MiB")
        return tally
    }

    /// Whether the words begin with `file:line:column: error:`.
    private static func hasPosition(_ words: String, _ path: String) -> Bool {
        words.split(separator: "\n").contains { line in
            guard line.hasPrefix(path + ":") else { return false }
            let fields = line.dropFirst(path.count + 1).split(separator: ":")
            return fields.count > 2 && Int(fields[0]) ?? 0 > 0 && Int(fields[1]) ?? 0 > 0
                && fields[2] == " error"
        }
    }

    private static var ownMemory: Int { ProcessMemory.peak }
}
