import Glibc
@testable import MirrorKit
import Synchronization
import Testing

/// What work that is no transfer reports while it goes on.
@Suite struct ActivityMeterTests {
    /// Looks at a meter each time that a file's reader asks whether it shall stop.
    private final class Looks: Sendable {
        let meter = ActivityMeter()
        private let seen = Mutex<[Activity]>([])

        var all: [Activity] { seen.withLock { $0 } }

        func look() -> Bool {
            let activity = meter.activity
            seen.withLock { $0.append(activity) }
            return false
        }
    }

    private let folder: TemporaryFolder
    private let session: MirrorSession
    private let manifest: Manifest

    init() throws {
        folder = try TemporaryFolder()
        session = try MirrorSession(root: folder.path + "/root")
        var resources: [Resource] = []
        for number in 0..<3 {
            let bytes = [UInt8](repeating: UInt8(number), count: 2 << 20)
            let target = try Target("Caches/\(number)")
            try folder.write(bytes, to: "root/" + target.path)
            var resource = Resource(
                target: target, url: try SourceURL("https://h.example/\(number)"))
            resource.digests = [ByteHasher.digest(.sha256, of: bytes)]
            resources.append(resource)
        }
        manifest = Manifest(name: "m", resources: resources)
    }

    @Test func verificationKnowsAllFilesAndBytesBeforehand() async throws {
        try await session.sync(manifest)
        let root = try RootDirectory(opening: session.root)
        let looks = Looks()
        var check = try IntegrityCheck(
            view: TreeView(root: root, index: try Index.openForReading(root)),
            manifests: [manifest], meter: looks.meter, isCancelled: { looks.look() })
        _ = try check.report(root: "")
        let last = try #require(looks.all.last)
        #expect(
            looks.all.allSatisfy {
                $0.kind == .reading && $0.total == 3 && $0.totalBytes == 6 << 20
            })
        #expect(last.name == "Caches/2" && last.done == 2 && last.bytes > 5 << 20)
        #expect(looks.meter.activity.kind == .none)
    }

    @Test func planningTellsWhichFilesItReads() throws {
        let root = try RootDirectory(opening: session.root)
        let looks = Looks()
        let scan = try Scan(
            manifests: [manifest], options: PlanOptions(), root: root, index: nil,
            now: Instant(seconds: 1_800_000_000), meter: looks.meter,
            isCancelled: { looks.look() })
        _ = try scan.plan(for: "")
        let reads = looks.all.filter { !$0.name.isEmpty }
        #expect(reads.map(\.name).contains("Caches/0"))
        #expect(reads.allSatisfy { $0.kind == .looking && $0.total == 3 })
        #expect(reads.last?.bytes ?? 0 > 4 << 20)
    }

    @Test func callReportsToTheMeterOfItsTask() async throws {
        let meter = ActivityMeter()
        _ = try await ActivityMeter.$current.withValue(meter) { try await session.plan(manifest) }
        #expect(meter.activity.number == 1)
        #expect(meter.activity.kind == .none)
        _ = try await session.plan(manifest)
        #expect(meter.activity.number == 1)
    }

    @Test func anEvictionReportsLookingAndRemoving() async throws {
        try await session.sync(manifest)
        let meter = ActivityMeter()
        try await ActivityMeter.$current.withValue(meter) {
            _ = try await CacheEviction(toQuota: 0).preview(in: session)
            #expect(meter.activity.number == 1)
            _ = try await CacheEviction(toQuota: 0).carryOut(in: session)
        }
        #expect(meter.activity.number == 3)
        #expect(meter.activity.kind == .none)
    }

    @Test func decodingTellsHowFarItIs() throws {
        let text = "{ \"resources\": [" + String(repeating: " ", count: 200_000) + "] }"
        let path = folder.path + "/m.json"
        try folder.write(Array(text.utf8), to: "m.json")
        let meter = ActivityMeter()
        _ = try ManifestLoader.readFile(at: path, meter: meter)
        #expect(meter.activity.number == 1)
        var offsets: [Int] = []
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        _ = try ManifestReader.read(
            descriptor: file, label: "m", origin: .file(path: path),
            hasRead: { offsets.append($0) })
        #expect(offsets.last == text.utf8.count)
        #expect(offsets.count > 3)
    }
}
