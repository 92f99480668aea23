internal import Glibc
internal import MirrorTestSupport
internal import Synchronization

/// A tree, its origin, and all that may be in the tree: what a story of a crash is told upon.
final class CrashGround {
    let ground: Playground
    private let program: String
    private let shelf = MemoryShelf()
    private let cutter: CuttingOrigin
    private let server: OriginServer
    /// The versions of each target that were ever served, the newest last.
    private(set) var versions: [String: [[UInt8]]] = [:]
    /// What people put into the tree: it may move to a conflict name, and never goes away.
    private(set) var people: [[UInt8]] = []
    /// Where they put it.
    private(set) var edited: Set<String> = []
    /// The tree when all is done, without conflict names.
    var expected: [String: [UInt8]] = [:]
    /// What a file beside the root may hold: as it was, and last as it will be.
    var beside: [String: [[UInt8]]] = [:]
    /// The old set and the new one, where the tree must hold one of them; nil in other stories.
    var wholeSets: WholeSets?
    /// Bytes that may be there after a crash and never in the end.
    private(set) var spoiled: [[UInt8]] = []
    private var seed: UInt64
    private var random: SplitMix64

    /// - Parameters:
    ///   - parent: the folder to make the root's own folder in.
    ///   - root: a root that is there already; nil is one in that folder.
    init(
        program: String, in parent: String, root: String? = nil, seed: UInt64,
        bytesPerSecond: Int? = nil
    ) throws {
        self.program = program
        self.seed = seed
        random = SplitMix64(seed: seed)
        ground = try Playground(program: program, root: root, in: parent)
        cutter = CuttingOrigin(shelf, ShelfOrigin(shelf, bytesPerSecond: bytesPerSecond))
        server = try OriginServer(responder: cutter)
    }

    func end() {
        server.stop()
        ground.remove()
    }

    /// Where the origin serves.
    var url: String { server.url }
    /// Whether bodies are broken off in the middle.
    var cutsBodies: Bool {
        get { cutter.isCutting.load(ordering: .relaxed) }
        set { cutter.isCutting.store(newValue, ordering: .relaxed) }
    }

    /// Begins again with an empty root.
    func reset() throws {
        for entry in ground.root.entries().reversed() {
            let path = ground.root.full(entry.name)
            _ = entry.isFolder ? rmdir(path) : unlink(path)
        }
        versions = [:]
        people = []
        edited = []
        spoiled = []
        expected = [:]
        beside = [:]
        wholeSets = nil
        cutsBodies = false
    }

    /// Serves a new version of a target and expects it in the end.
    func publish(_ name: String, _ size: Int) {
        seed += 1
        serve(name, TestBytes.make(size, seed: seed))
    }

    /// Serves given bytes as a new version of a target and expects them in the end.
    func serve(_ name: String, _ bytes: [UInt8]) {
        versions[name, default: []].append(bytes)
        shelf.put("/" + name, bytes)
        expected[name] = bytes
    }

    /// Puts something else at a path of the origin.
    func offer(_ path: String, _ bytes: [UInt8]) { shelf.put(path, bytes) }

    /// The bytes of a target's newest version.
    func newest(_ name: String) -> [UInt8] { versions[name]?.last ?? [] }

    /// Lets somebody write a file of the tree.
    func edit(_ name: String, _ size: Int = 5000) throws {
        seed += 1
        let bytes = TestBytes.make(size, seed: seed)
        people.append(bytes)
        edited.insert(name)
        try ground.root.write(name, bytes)
    }

    /// Lets a disk, or somebody, spoil a file that can be fetched again.
    func spoil(_ name: String) throws {
        let bytes = TestBytes.make(4000, seed: UInt64(name.utf8.count))
        spoiled.append(bytes)
        try ground.root.write(name, bytes)
    }

    /// A random number below a limit.
    func draw(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

    /// Writes the manifest of targets, some with digests; gives its path.
    func manifest(
        _ names: [String], pinned: [String] = [], extra: [String] = []
    ) throws -> String {
        try ground.write(manifest: manifestText(names, pinned: pinned, extra: extra))
    }

    func manifestText(_ names: [String], pinned: [String] = [], extra: [String] = []) -> String {
        let resources = names.map { name in
            let pin =
                pinned.contains(name) ? ",\"sha256\":\"\(Checksum.sha256(newest(name)))\"" : ""
            return "{\"path\":\"\(name)\",\"url\":\"\(name)\"\(pin)}"
        }
        return "{\"name\":\"crash\",\"base\":\"\(url)/\",\"resources\":["
            + (resources + extra).joined(separator: ",") + "]}"
    }

    private var environment: [String: String] {
        ["MIRROR_ROOT": ground.root.path, "HOME": ground.folder.path, "LANG": "C.UTF-8"]
    }

    /// Starts the program.
    func start(_ words: [String]) throws -> Command {
        try Command(program, words, environment: environment)
    }

    /// Runs the program to its end.
    @discardableResult
    func run(_ words: [String]) throws -> Command.Result { try start(words).wait() }

    /// Starts the program under a tracer.
    func trace(_ words: [String]) throws -> TracedCommand {
        try TracedCommand(program, words, environment: environment)
    }
}

/// An honest origin that breaks every body off in the middle for a time.
private final class CuttingOrigin: Responder {
    let isCutting = Atomic(false)
    private let shelf: MemoryShelf
    private let honest: ShelfOrigin

    init(_ shelf: MemoryShelf, _ honest: ShelfOrigin) {
        self.shelf = shelf
        self.honest = honest
    }

    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        guard isCutting.load(ordering: .relaxed),
            let item = shelf.item(at: request.path)
        else { return honest.respond(to: request, on: connection) }
        let head = [
            "HTTP/1.1 200 OK", "ETag: \(item.entityTag)", "Content-Length: \(item.bytes.count)", "",
            "",
        ]
        _ = connection.send(Array(head.joined(separator: "\r\n").utf8))
        _ = connection.send(item.bytes[..<(item.bytes.count / 2)])
        return false
    }
}
