import Glibc
import MirrorTestSupport
import Synchronization
import Testing

/// What a program sees that reads a set all the time while its versions change.
@Suite(.timeLimit(.minutes(15))) struct SetReaderTests {
    private static let names = ["0/a", "0/b", "1/a", "index", "style"]

    @Test(arguments: ["Caches/set", "Documents/set"])
    func readersSeeTheOldOrNewSet(folder: String) async throws {
        let (sights, ends) = try await DetachedThread.run {
            let shelf = MemoryShelf()
            let server = try OriginServer(responder: ShelfOrigin(shelf))
            defer { server.stop() }
            let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
            defer { ground.remove() }
            let resources = Self.names.map { "{\"path\":\"\(folder)/\($0)\",\"url\":\"\($0)\"}" }
            let manifest = try ground.write(
                manifest: "{\"name\":\"m\",\"atomic\":true,\"base\":\"\(server.url)/\","
                    + "\"resources\":[\(resources.joined(separator: ","))]}")
            func sync(_ version: Int) throws -> Command.Ending {
                for name in Self.names { shelf.put("/" + name, Array("version \(version)".utf8)) }
                return try ground.sync(manifest, ["--refresh"]).wait().ending
            }
            var ends = [try sync(0)]
            let reader = SetReader(ground.root.full(folder), Self.names)
            reader.start()
            for version in 1...15 { ends.append(try sync(version)) }
            return (reader.stop(), ends)
        }
        #expect(ends.allSatisfy { $0 == .exited(0) }, "\(ends)")
        #expect(sights.mixed == [])
        #expect(sights.missing == [])
        #expect(sights.versions.count > 10, "\(sights.versions)")
    }
}

/// Opens the folder, and the files in it, again and again.
private final class SetReader: Sendable {
    struct Sights: Sendable {
        /// Versions that were seen as a whole.
        var versions: Set<String> = []
        /// Sets of which neither version was seen.
        var mixed: [[String]] = []
        /// Paths that nothing was at.
        var missing: [String] = []
    }

    private let path: String
    private let names: [String]
    private let sights = Mutex(Sights())
    private let isOver = Atomic<Bool>(false)
    private let hasEnded = Atomic<Bool>(false)

    init(_ path: String, _ names: [String]) {
        (self.path, self.names) = (path, names)
    }

    func start() {
        // A thread of its own: one of the runtime's would be missing to all other tests.
        DetachedThread.start {
            while !self.isOver.load(ordering: .relaxed) {
                self.look()
                usleep(100)
            }
            self.hasEnded.store(true, ordering: .releasing)
        }
    }

    func stop() -> Sights {
        isOver.store(true, ordering: .relaxed)
        while !hasEnded.load(ordering: .acquiring) { Pause.milliseconds(1) }
        return sights.withLock { $0 }
    }

    private func look() {
        // By its path, a file is there at every instant.
        if access(path + "/index", F_OK) != 0 {
            sights.withLock { $0.missing.append("index: \(errno)") }
        }
        let folder = open(path, O_RDONLY | O_DIRECTORY)
        guard folder >= 0 else { return sights.withLock { $0.missing.append("\(errno)") } }
        defer { close(folder) }
        let files = names.map { openat(folder, $0, O_RDONLY) }
        defer { for file in files where file >= 0 { close(file) } }
        // The folder was exchanged, and is emptied: whoever wants all files begins again.
        if files.contains(where: { $0 < 0 }) { return }
        let texts = files.map { file in
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(file, &bytes, 64)
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }
        sights.withLock { sights in
            if Set(texts).count == 1 {
                sights.versions.insert(texts[0])
            } else {
                sights.mixed.append(texts)
            }
        }
    }
}
