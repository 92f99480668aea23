import CSQLite
import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Processes that share the work of a root, and others that follow them in another number.
@Suite(.timeLimit(.minutes(15))) struct ShardedRootTests {
    private let folder: TemporaryFolder
    private let shelf = MemoryShelf()
    private let origin: ShelfOrigin
    private let server: OriginServer

    init() throws {
        folder = try TemporaryFolder()
        origin = ShelfOrigin(shelf)
        server = try OriginServer(responder: origin)
    }

    private var root: String { folder.path + "/root" }

    private func session(
        _ shard: String? = nil, _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> MirrorSession {
        var configuration = Configuration()
        configuration.minFree = 0
        configuration.shard = shard
        configure(&configuration)
        return try MirrorSession(root: root, configuration: configuration)
    }

    /// Half of the resources have a pin; the others are fresh for a day.
    private func manifest(_ count: Int = 60, version: UInt8 = 1) throws -> Manifest {
        let resources = try (0..<count).map { number in
            let bytes = [UInt8(number), version]
            shelf.put("/\(number)", bytes)
            var resource = Resource(
                target: try Target(number % 3 == 0 ? "Caches/\(number)" : "Documents/d/\(number)"),
                url: try SourceURL("\(server.url)/\(number)"))
            if number % 2 == 0 {
                resource.digests = [ByteHasher.digest(.sha256, of: bytes)]
            } else {
                resource.refresh = .after(.seconds(86400))
            }
            return resource
        }
        return Manifest(name: "m", resources: resources)
    }

    /// Syncs as many shards as there are, one after another, and adds up their summaries.
    private func syncAll(
        _ count: Int, _ manifest: Manifest, prune: Bool = false
    ) async throws -> Summary {
        var sum = Summary()
        var planning = PlanOptions()
        planning.prune = prune
        for number in 1...count {
            let summary = try await session(count == 1 ? nil : "\(number)/\(count)")
                .sync(manifest, planning: planning)
            sum.resources += summary.resources
            sum.requests += summary.requests
            sum.removed += summary.removed
            sum.orphans += summary.orphans
            for (outcome, count) in summary.outcomes { sum[outcome] += count }
            #expect(summary.shard == (count == 1 ? nil : "\(number)/\(count)"))
        }
        return sum
    }

    private var shardFolders: [String] {
        let files = folder.names(in: "root/.mirror/shards")
        return Set(files.compactMap { $0.split(separator: "/").first.map(String.init) }).sorted()
    }

    @Test func eachShardFetchesItsOwnTargets() async throws {
        let manifest = try manifest()
        let summaries = try await withThrowingTaskGroup(of: Summary.self) { group in
            for number in 1...4 {
                let session = try session("\(number)/4")
                group.addTask { try await session.sync(manifest) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(summaries.allSatisfy { $0.exit == 0 && $0[.fetched] == $0.resources })
        #expect(summaries.map(\.resources).reduce(0, +) == 60)
        #expect(origin.requests.count == 60 && Set(origin.requests).count == 60)
        #expect(shardFolders == ["1-of-4", "2-of-4", "3-of-4", "4-of-4"])
        let again = try await syncAll(4, manifest)
        #expect(again[.kept] == 60 && again.requests == 0)
    }

    @Test(arguments: [[3, 2], [3, 1], [1, 3], [4, 3, 4], [2, 1, 2, 5]])
    func anotherNumberAsksForNothingAgain(counts: [Int]) async throws {
        let manifest = try manifest()
        for (position, count) in counts.enumerated() {
            let sum = try await syncAll(count, manifest, prune: true)
            #expect(sum[position == 0 ? .fetched : .kept] == 60, "\(count) shards")
            #expect(sum.requests == (position == 0 ? 60 : 0), "\(count) shards")
            #expect(sum.removed == 0)
            let names = count == 1 ? [] : (1...count).map { "\($0)-of-\(count)" }
            #expect(shardFolders == names.sorted(), "older indexes are gone")
            #expect((folder.bytes(of: "root/.mirror/index.sqlite") != nil) == (count == 1))
        }
        let runs = try await session().history.runs()
        #expect(
            runs.count == (counts[0] == 1 ? 1 : counts[0]), "the runs that fetched are remembered")
    }

    @Test func readersWithoutAShardSeeAll() async throws {
        let manifest = try manifest()
        _ = try await syncAll(3, manifest)
        let all = try session()
        let files = try await all.status(of: [manifest])
        #expect(files.count == 60 && files.allSatisfy { $0.state == .intact && !$0.isOrphan })
        #expect(files.map(\.target) == files.map(\.target).sorted())
        let own = try await session("2/3").status(of: [manifest])
        let second = try Shard("2/3")
        #expect(own.count == manifest.resources.count { second.has($0.target.path.utf8) })
        #expect(try await all.verify([manifest]).discrepancies.isEmpty)
        let plan = try await all.plan(manifest)
        #expect(plan.steps.allSatisfy { $0.kind == .keep } && plan.steps.count == 60)
        #expect(
            try await all.history.runs().compactMap(\.summary?.shard).sorted() == [
                "1/3", "2/3", "3/3",
            ])
    }

    /// What has been taken over counts in one index only, also while some shards have not run yet.
    @Test func halfATakeoverLosesNothing() async throws {
        let manifest = try manifest()
        _ = try await syncAll(2, manifest)
        for number in [1, 3] { _ = try await session("\(number)/3").sync(manifest) }
        #expect(shardFolders.contains("1-of-2"))
        let files = try await session().status(of: [manifest])
        #expect(files.count == 60 && files.allSatisfy { $0.state == .intact })
        // The shards of before return, and take back what was taken.
        let back = try await syncAll(2, manifest, prune: true)
        #expect(back[.kept] == 60 && back.requests == 0 && back.removed == 0)
    }

    /// A row that was taken over is not used by the shard from which it came.
    @Test func theNewerRowCounts() async throws {
        _ = try await syncAll(2, try manifest())
        let next = try manifest(version: 2)
        var planning = PlanOptions()
        planning.refresh = true
        for number in 1...2 {
            let summary = try await session("\(number)/3").sync(next, planning: planning)
            #expect(summary[.updated] == summary.resources)
        }
        origin.forgetRequests()
        let back = try await syncAll(2, next)
        let last = try Shard("3/3")
        let third = next.resources.filter { last.has($0.target.path.utf8) }
        #expect(back[.kept] == 60 - third.count { $0.pin != nil }, "\(back.outcomes)")
        #expect(back.requests == third.count { $0.pin != nil }, "only the third shard was behind")
    }

    /// A crash before the mark makes the next run copy the rows again.
    @Test func aTakeoverCanBeRepeated() async throws {
        let manifest = try manifest()
        _ = try await syncAll(2, manifest)
        _ = try await session("1/3").sync(manifest)
        for shard in ["1-of-2", "2-of-2"] {
            #expect(unlink(root + "/.mirror/shards/\(shard)/taken-1-of-3") == 0)
        }
        let again = try await syncAll(3, manifest)
        #expect(again[.kept] == 60 && again.requests == 0)
        #expect(shardFolders == ["1-of-3", "2-of-3", "3-of-3"])
    }

    @Test func orphansAreRemovedByTheShardThatHasThem() async throws {
        _ = try await syncAll(2, try manifest())
        let fewer = try await syncAll(3, try manifest(45), prune: true)
        #expect(fewer.removed == 15 && fewer[.kept] == 45)
        #expect(try await session().status(of: []).count == 45)
    }

    /// Parts of others lie in the same folder, and their rows in other indexes.
    @Test func partsOfOthersStayAndAreResumedInAnotherNumber() async throws {
        let bytes = TestBytes.make(3_000_000, seed: 7)
        shelf.put("/big", bytes)
        let target = try Target("Caches/big")
        let resource = Resource(target: target, url: try SourceURL(server.url + "/big"))
        let big = Manifest(name: "big", resources: [resource])
        let numbers = try [2, 3].map { count in
            try #require(
                (1...count).first { try Shard("\($0)/\(count)").has(target.path.utf8) })
        }
        let limited = try session("\(numbers[0])/2") { $0.maxTransfer = 2_000_000 }
        let error = await #expect(throws: MirrorError.self) { try await limited.sync(big) }
        #expect(error?.message.contains("1000000") == true, "half of the limit is its share")
        let parts = folder.names(in: "root/tmp")
        #expect(parts.count == 1)
        _ = try await session("\(3 - numbers[0])/2").sync(big)
        #expect(folder.names(in: "root/tmp") == parts)
        for number in 1...3 where number != numbers[1] {
            _ = try await session("\(number)/3").sync(big)
        }
        #expect(folder.names(in: "root/tmp") == parts)
        let plan = try await session("\(numbers[1])/3").plan(big)
        #expect(plan.steps.map(\.kind) == [.resume])
        let last = try await session("\(numbers[1])/3").sync(big)
        #expect(last[.resumed] == 1 && last.bytesReused > 500_000)
        #expect(folder.bytes(of: "root/Caches/big") == bytes)
        #expect(folder.names(in: "root/tmp").isEmpty)
    }

    /// A part without a row is removed by the shard that left it, and by a run of all targets.
    @Test func leftoversAreTheirShardsOwn() async throws {
        let target = try Target("Caches/x")
        let tags = try ["1/2", "2/2"].map { try Shard($0).tag }
        let names = tags.map { PartRecord.passingName(for: target, tag: $0) }
        _ = try await session("1/2").sync(try manifest(4))
        for name in names { try folder.write([1], to: "root/tmp/" + name) }
        _ = try await session("1/2").sync(try manifest(5))
        #expect(folder.names(in: "root/tmp") == [names[1]])
        _ = try await session().sync(try manifest(5))
        #expect(folder.names(in: "root/tmp").isEmpty)
    }

    @Test(arguments: ["1/3", nil, "1/2"]) func aRunOfAnotherNumberExcludes(shard: String?)
        async throws
    {
        let manifest = try manifest(4)
        _ = try await syncAll(2, manifest)
        let place = try RootDirectory(opening: root, shard: try Shard("1/2"))
        let lock = try RootLock.tryAcquire(place, now: Instant(seconds: 0))
        defer { lock.release() }
        let error = await #expect(throws: MirrorError.self) {
            try await session(shard).sync(manifest)
        }
        #expect(error?.code == .locked)
        #expect(error?.message.contains("shard 1/2") == true)
        // A sibling goes on.
        #expect(try await session("2/2").sync(manifest).exit == 0)
    }

    /// Settling the index of a long list takes longer than a process waits for a run.
    @Test func aProcessWaitsForOneThatSettles() async throws {
        let manifest = try manifest(4)
        _ = try await syncAll(2, manifest)
        let place = try RootDirectory(opening: root, shard: try Shard("1/2"))
        let lock = try RootLock.tryAcquire(place, now: Instant(seconds: 0))
        try lock.noteThatItSettles(place.shard)
        let (session, began) = (try session("1/3"), ContinuousClock.now)
        async let summary = session.sync(manifest)
        try await Task.sleep(for: .seconds(3))
        lock.release()
        #expect(try await summary.exit == 0)
        #expect(ContinuousClock.now - began >= .seconds(3))
    }

    @Test func aRunOfAllTargetsExcludesShards() async throws {
        try await session().withLock {
            let error = await #expect(throws: MirrorError.self) {
                try await session("1/2").sync(try manifest(4))
            }
            #expect(error?.code == .locked)
            #expect(error?.message.contains("all targets") == true)
        }
    }

    /// What a killed run left in an index is settled before its rows are taken over.
    @Test func aKilledRunIsSettledFirst() async throws {
        let manifest = try manifest()
        _ = try await syncAll(2, manifest)
        let hidden = "Caches/." + "x.mirror-" + String(repeating: "0", count: 32)
        try folder.write([1], to: "root/" + hidden)
        let place = try RootDirectory(opening: root, shard: try Shard("2/2"))
        let index = try Index.open(place, now: Instant(seconds: 0))
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.noteHiddenFile(hidden)
        }
        try index.close()
        let sum = try await syncAll(3, manifest)
        #expect(sum[.kept] == 60 && sum.requests == 0)
        #expect(folder.bytes(of: "root/" + hidden) == nil)
    }

    @Test func aDamagedIndexIsNamed() async throws {
        let manifest = try manifest(4)
        _ = try await syncAll(2, manifest)
        try folder.write(Array("no database".utf8), to: "root/.mirror/shards/2-of-2/index.sqlite")
        let error = await #expect(throws: MirrorError.self) {
            try await session().status(of: [manifest])
        }
        #expect(error?.message.contains(".mirror/shards/2-of-2/index.sqlite") == true)
        let healed = try await session("2/2").sync(manifest)
        #expect(healed.exit == 0)
        #expect(try await session().status(of: [manifest]).count == 4)
    }

    /// A damaged index of an earlier number is moved aside, and harms no sound one.
    @Test func aDamagedOlderIndexIsMovedAside() async throws {
        let manifest = try manifest()
        _ = try await syncAll(2, manifest)
        _ = try await session("1/3").sync(manifest)
        let name = "root/.mirror/shards/2-of-2/index.sqlite"
        var bytes = try #require(folder.bytes(of: name))
        for at in 4096..<bytes.count { bytes[at] = 0x5A }
        try folder.write(bytes, to: name)
        let session = try session("2/3")
        let notices = try await session.withPlan(of: [manifest]) { _ in await session.notices() }
        #expect(notices.contains { $0.contains("2-of-2/index.sqlite.damaged-") }, "\(notices)")
        #expect(!folder.names(in: "root/.mirror/shards/2-of-3").contains { $0.contains("damaged") })
        #expect(try await session.sync(manifest)[.failed] == 0)
    }

    /// A target that was a server's choice is the first shard's; one that a manifest names is not.
    @Test func aNameThatIsGivenNowIsNoOrphan() async throws {
        var resource = try #require(
            try manifest().resources.first { try Shard("2/2").has($0.target.path.utf8) })
        resource.digests = [ByteHasher.digest(.sha256, of: [UInt8(resource.target.name) ?? 0, 1])]
        let given = Manifest(name: "m", resources: [resource])
        _ = try await session().sync(given)
        // As an earlier run would have left it: the row with the first shard, its name a server's.
        let place = try RootDirectory(opening: root)
        let row = try #require(try Index.openForReading(place).record(for: resource.target))
        #expect(unlink(root + "/.mirror/index.sqlite") == 0)
        let first = try Index.open(
            RootDirectory(opening: root, shard: try Shard("1/2")), now: Instant(seconds: 0))
        try first.write { (batch: inout Database) throws(IndexError) in try batch.put(row) }
        try first.close()
        var planning = PlanOptions()
        planning.prune = true
        for number in 1...2 {
            let summary = try await session("\(number)/2").sync(given, planning: planning)
            #expect(summary.removed == 0 && summary[.failed] == 0)
        }
        #expect(folder.bytes(of: "root/" + resource.target.path) != nil)
    }

    /// What a server has called a file is known to the first shard only.
    @Test func aNameThatAServerChoseCanBeAskedForInAnyShard() async throws {
        let target = try #require(
            try (0..<40).map { try Target("Caches/\($0)") }
                .first { try Shard("2/2").has($0.path.utf8) })
        var planning = PlanOptions()
        planning.refetch = [target]
        planning.refusesUnknownNames = true
        let given = try manifest(0)
        let second = try session("2/2")
        await #expect(throws: MirrorError.self) { try await second.plan(given, options: planning) }
        var resource = Resource(
            target: try Target("Caches/x"), url: try SourceURL(server.url + "/x"))
        resource.isNamedByServer = true
        let named = Manifest(name: "m", resources: [resource])
        #expect(try await second.plan(named, options: planning).steps.isEmpty)
        let first = try session("1/2")
        #expect(try await first.plan(named, options: planning).steps.count == 1)
    }

    /// The quota of Caches is for all processes together.
    @Test func theQuotaIsDivided() async throws {
        let shard = try Shard("1/2")
        let resources = try (0..<40).map { try Target("Caches/\($0)") }
            .filter { shard.has($0.path.utf8) }.prefix(4).map { target in
                var resource = Resource(target: target, url: try SourceURL(server.url + "/x"))
                resource.size = 1000
                return resource
            }
        var planning = PlanOptions()
        planning.quota = 4000
        let manifest = Manifest(name: "m", resources: Array(resources))
        let plan = try await session("1/2").plan(manifest, options: planning)
        #expect(plan.steps.count { $0.kind == .fetch } == 2)
        let all = try await session().plan(manifest, options: planning)
        #expect(all.steps.count { $0.kind == .fetch } == 4)
    }

    /// A shard that failed is not hidden by another one that ended later.
    @Test func theLastRunOfEachShardCounts() throws {
        func run(_ id: String, _ shard: String?, exit: Int32) -> PastRun {
            var summary = Summary()
            (summary.shard, summary.exit) = (shard, exit)
            return PastRun(id: id, startedAt: Instant(seconds: 0), summary: summary)
        }
        let runs = [
            run("5", "2/2", exit: 0), run("4", "1/2", exit: 74), run("3", "1/2", exit: 0),
            run("2", "3/3", exit: 1), run("1", nil, exit: 1),
        ]
        #expect(runs.newestEnded.map(\.id) == ["5", "4"])
        #expect(runs.lastEnded?.id == "4")
        #expect(Array(runs.dropFirst(4)).lastEnded?.id == "1")
    }

    @Test func aSetHasNoShards() async throws {
        var set = try manifest(4)
        set.isAtomic = true
        let (shard, atomic) = (try session("1/2"), set)
        let error = await #expect(throws: MirrorError.self) { try await shard.sync(atomic) }
        #expect(error?.code == .usage)
        #expect(try await session().sync(atomic)[.fetched] == 4)
    }

    /// A server of the tree sees shards come and go.
    @Test func aWatchedIndexFollowsShards() async throws {
        let manifest = try manifest()
        _ = try await session().sync(try self.manifest(0))
        let watch = try IndexWatch(try RootDirectory(opening: root))
        defer { try? watch.close() }
        for count in [2, 3, 1] {
            _ = try await syncAll(count, manifest)
            let index = try watch.current().index
            for resource in manifest.resources {
                #expect(try index.servedFile(at: resource.target) != nil)
            }
            var paths: [String] = []
            while true {
                let page = try index.servedFiles(
                    beneath: "Documents/", from: paths.last ?? "Documents/", isIncluded: false,
                    most: 7)
                if page.isEmpty { break }
                paths += page.map(\.target.path)
            }
            #expect(paths == paths.sorted() && paths.count == 40)
        }
    }

    /// A shard that settles a run of all targets knows no rows of other shards' parts.
    @Test func partsOfOthersStayWhenAKilledRunIsSettled() async throws {
        let manifest = try manifest(8)
        _ = try await syncAll(1, manifest)
        let index = try Index.open(RootDirectory(opening: root), now: Instant(seconds: 0))
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.noteHiddenFile("Caches/.x.mirror-" + String(repeating: "0", count: 32))
        }
        try index.close()
        let part = PartRecord.passingName(for: try Target("Caches/x"), tag: try Shard("2/3").tag)
        try folder.write([1], to: "root/tmp/" + part)
        _ = try await session("1/3").sync(manifest)
        #expect(folder.names(in: "root/tmp") == [part])
    }

    /// SQLite would remove the log of a new index when the reader of the old one closes it.
    @Test func anIndexThatIsReadIsRemovedLater() async throws {
        let manifest = try manifest()
        _ = try await syncAll(1, manifest)
        let reader = try Index.openForReading(RootDirectory(opening: root))
        _ = try reader.record(for: manifest.resources[0].target)
        let sum = try await syncAll(2, manifest)
        #expect(sum[.kept] == 60 && sum.requests == 0)
        #expect(folder.bytes(of: "root/.mirror/index.sqlite") != nil)
        #expect(try await session().status(of: [manifest]).count { $0.state == .intact } == 60)
        try reader.close()
        _ = try await session("1/2").sync(manifest)
        #expect(folder.bytes(of: "root/.mirror/index.sqlite") == nil)
    }

    /// A run that is killed while it makes its tables leaves a part of a log.
    @Test func anIndexThatWasBegunIsGoneOnWith() async throws {
        let place = "root/.mirror/shards/1-of-2/"
        try folder.write([], to: place + "lock")
        let begun = try Database(
            folder.path + "/" + place + "index.sqlite",
            flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        try begun.run("PRAGMA journal_mode = WAL")
        _ = consume begun
        try folder.write([UInt8](repeating: 7, count: 9000), to: place + "index.sqlite-wal")
        let manifest = try manifest(8)
        _ = try await syncAll(3, manifest)
        _ = try await syncAll(2, manifest)
        #expect(!folder.names(in: "root/.mirror").contains { $0.contains("damaged") })
        #expect(shardFolders == ["1-of-2", "2-of-2"])
    }

    /// The spent part of a budget goes along.
    @Test func theBudgetIsDivided() async throws {
        var options = RunOptions()
        options.permission.budget = TransferBudget(bytes: 90, period: .month)
        let manifest = try manifest(12)
        for number in 1...2 {
            let summary = try await session("\(number)/2").sync(manifest, options: options)
            #expect(summary.exit == 0)
        }
        let spent = { (shard: String) in
            try Index.openForReading(RootDirectory(opening: root, shard: try Shard(shard)))
                .budgetAccount()?.spent
        }
        #expect(try (spent("1/2") ?? 0) + (spent("2/2") ?? 0) == 24)
        _ = try await syncAll(3, manifest)
        for number in 1...3 { #expect(try (6...8).contains(spent("\(number)/3") ?? 0)) }
    }
}
