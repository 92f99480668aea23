import MirrorTestSupport
import Synchronization

@testable import MirrorKit

/// A transfer loop over a real tree; an observer hears of its jobs as a run does.
final class TransferRig: Sendable {
    let folder: TemporaryFolder
    let store: TreePartStore
    let index: Index
    let loop: TransferLoop
    private let results: AsyncStream<(Int, TransferResult)>

    /// - Parameters:
    ///   - parts: makes what the loop keeps its parts in of what the tree has.
    ///   - hears: called with what is told, before anybody else hears of it.
    init(
        _ adapt: (inout Configuration) -> Void = { _ in },
        parts: (TreePartStore) -> any PartStore = { $0 },
        hears: @escaping @Sendable (TransferLoop, Int, TransferEvent) -> Void = { _, _, _ in }
    ) throws {
        folder = try TemporaryFolder()
        let root = try RootDirectory(opening: folder.path)
        index = try Index.open(root, now: Instant(seconds: 0))
        store = TreePartStore(root: root, index: index)
        var configuration = Configuration()
        configuration.transfer.maxWait = .seconds(0)
        // A test that waits for a server's next step may wait long on a busy machine.
        configuration.transfer.stallTimeout = .seconds(3600)
        adapt(&configuration)
        let (stream, continuation) = AsyncStream.makeStream(of: (Int, TransferResult).self)
        results = stream
        let received = Box<[(id: Int, event: TransferEvent)]>([])
        box = received
        let observer = RigObserver()
        loop = try TransferLoop(
            configuration: configuration, parts: parts(store), observer: observer)
        observer.hears.withLock { [loop] in
            $0 = { id, item in
                hears(loop, id, item)
                received.value.withLock { $0.append((id, item)) }
                if case .ended(let result) = item { continuation.yield((id, result)) }
            }
        }
    }

    private let box: Box<[(id: Int, event: TransferEvent)]>

    deinit { loop.stop() }

    /// What jobs told so far.
    var told: [(id: Int, event: TransferEvent)] { box.value.withLock { $0 } }

    /// Waits for the ends of so many jobs.
    func ends(_ count: Int = 1) async -> [Int: TransferResult] {
        var ends: [Int: TransferResult] = [:]
        for await (id, result) in results {
            ends[id] = result
            if ends.count == count { break }
        }
        return ends
    }

    /// Runs one job to its end.
    func run(_ job: Download) async -> TransferResult? {
        loop.submit([job])
        return await ends()[job.id]
    }

    /// The names in `tmp/`.
    var parts: [String] { folder.names(in: "tmp") }

    /// What the index knows of the target's parts.
    func records(_ target: Target) throws -> [PartRecord] {
        try index.read { (database: inout Database) throws(IndexError) in
            try database.parts(for: target)
        }
    }

    /// The bytes of a received body.
    func bytes(_ result: TransferResult?) -> [UInt8]? {
        guard case .received(let body) = result else { return nil }
        switch body.content {
        case .memory(let bytes): return bytes
        case .part(let name, _): return folder.bytes(of: "tmp/" + name)
        default: return nil
        }
    }
}

/// The parts of a tree, where a test takes a hand.
struct AdaptedParts: PartStore {
    let store: TreePartStore
    /// Called before a part is opened.
    var opens: @Sendable () -> Void = {}
    /// Makes the file that is used of the one that was created.
    var file: @Sendable (PartFile) -> PartFile = { $0 }

    func create(_ record: PartRecord) throws(MirrorError) -> PartFile {
        file(try store.create(record))
    }

    func open(_ record: PartRecord) throws(MirrorError) -> PartFile? {
        opens()
        return try store.open(record)
    }

    func update(_ record: PartRecord) throws(MirrorError) { try store.update(record) }

    func log(_ milestone: Milestone, from start: Int64, part name: String) throws(MirrorError) {
        try store.log(milestone, from: start, part: name)
    }

    func discard(part name: String) throws(MirrorError) { try store.discard(part: name) }
}

/// Hears of transfers on their thread.
private final class RigObserver: TransferObserver {
    let hears = Mutex<@Sendable (Int, TransferEvent) -> Void>({ _, _ in })

    func tell(_ download: Download, _ event: TransferEvent) {
        hears.withLock { $0 }(download.id, event)
    }
}

/// A value that two closures share.
final class Box<Value: Sendable>: Sendable {
    let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }
}

extension TransferLoop {
    func submit(_ downloads: [Download]) {
        perform { for download in downloads { $0.submit(download) } }
    }

    func pause(_ id: Int) { perform { $0.pause(id) } }

    func resume(_ id: Int) { perform { $0.resume(id) } }

    func cancel(_ ids: [Int], discardingPart: Bool) {
        perform { $0.cancel(ids, discardingPart: discardingPart) }
    }

    func cancelAll() {
        perform { $0.cancel(Array($0.register.downloads.keys), discardingPart: false) }
    }
}

extension Download {
    /// A job for one target from addresses.
    static func fetching(
        _ urls: String..., id: Int = 1, target: String = "Caches/f.bin",
        headers: [(String, String)] = [], post: [UInt8]? = nil,
        expectation: Expectation = Expectation(), local: LocalVersion? = nil,
        part: PartRecord? = nil, isDecisive: Bool = false
    ) throws -> Download {
        let sources = try urls.map { text in
            let url = try SourceURL(text)
            return PreparedSource(
                url: url, key: SourceKey(url), headers: headers.map { (name: $0.0, value: $0.1) })
        }
        return Download(
            id: id, target: try Target(target), sources: sources, postBody: post,
            expectation: expectation, local: local, part: part, priority: 0, isDecisive: isDecisive)
    }
}

/// A responder made of one closure, which remembers what it was asked.
final class ClosureOrigin: Responder {
    private let reply: @Sendable (ReceivedRequest, Int, Connection) -> Bool
    private let log = Mutex<[ReceivedRequest]>([])

    /// The closure gets the request, how many came before it, and the connection.
    init(_ reply: @escaping @Sendable (ReceivedRequest, Int, Connection) -> Bool) {
        self.reply = reply
    }

    var requests: [ReceivedRequest] { log.withLock { $0 } }

    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        let count = log.withLock { log in
            log.append(request)
            return log.count - 1
        }
        return reply(request, count, connection)
    }
}

extension Connection {
    /// Sends a head and a body; says that the connection stays.
    func answer(_ head: String, _ body: some Sequence<UInt8> = [UInt8]()) -> Bool {
        let lines = head.split(separator: "\n").joined(separator: "\r\n") + "\r\n\r\n"
        return send(Array(lines.utf8)) && send(Array(body))
    }
}

extension TransferResult {
    /// The error of a failure.
    var error: MirrorError? { if case .failed(let error, _) = self { error } else { nil } }

    /// What came, when something came.
    var received: ReceivedBody? { if case .received(let body) = self { body } else { nil } }

    /// Whether it was cancelled.
    var isCancelled: Bool { if case .cancelled = self { true } else { false } }
}
