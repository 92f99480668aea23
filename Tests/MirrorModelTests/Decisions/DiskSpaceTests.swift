import Testing

@testable import MirrorKit

/// Which files of a plan fit on the disk.
@Suite struct DiskSpaceTests {
    private func disk(_ available: Int64, least: Int64 = 0) -> DiskSpace {
        DiskSpace([
            DiskVolume(place: "/r", areas: Set(Area.allCases), available: available, least: least)
        ])
    }

    /// The names of the files that do not fit; each file has a size, or none, and a priority.
    private func left(
        _ files: [(name: String, size: Int64?, priority: Int32)], _ disk: DiskSpace,
        except isLeftForLater: (Int) -> Bool = { _ in false }
    ) throws -> [String] {
        let plan = try plan(files)
        return plan.shortages(on: disk, except: isLeftForLater).keys.sorted().map {
            plan.steps.target(at: $0).name
        }
    }

    private func plan(_ files: [(name: String, size: Int64?, priority: Int32)]) throws -> Plan {
        let resources = try files.map { file in
            var resource = Resource(
                target: try Target("Caches/" + file.name),
                url: try SourceURL("http://a.example/" + file.name))
            resource.size = file.size
            resource.priority = file.priority
            return resource
        }
        let steps = resources.enumerated().map { number, resource in
            Step(
                target: resource.target, manifest: 0, resource: number, kind: .fetch,
                reason: .missing, means: .transfer(part: nil, ifChangedSince: nil),
                existing: .nothing, size: resource.size)
        }
        return Plan(
            root: "/r", manifests: [Manifest(name: "m", resources: resources)], steps: steps,
            now: Instant(seconds: 0), orphansLeft: 0)
    }

    @Test func whatFitsIsFetchedAndTheRestIsLeft() throws {
        let files: [(String, Int64?, Int32)] = [("a", 76, 0), ("b", 11, 0), ("c", 1, 0)]
        #expect(try left(files, disk(100)) == [])
        #expect(try left(files, disk(80)) == ["b"])
        #expect(try left(files, disk(50)) == ["a"])
        #expect(try left(files, disk(0)) == ["a", "b", "c"])
    }

    @Test func thePriorityDecidesBeforeTheOrder() throws {
        #expect(try left([("a", 60, 0), ("b", 60, 5), ("c", 40, -1)], disk(100)) == ["a"])
        #expect(try left([("a", 60, 0), ("b", 60, 0)], disk(100)) == ["b"])
    }

    @Test(
        arguments: [
            (100, 199, 100, false), (100, 200, 100, true), (nil, 99, 100, false),
            (nil, 100, 100, true), (0, 0, 100, true), (.max, .max - 1, 0, false),
            (.max, .max, 1, false), (1, 0, .max, false),
        ] as [(Int64?, Int64, Int64, Bool)])
    func theBytesAndWhatStaysFreeMustFit(
        size: Int64?, available: Int64, least: Int64, fits: Bool
    ) throws {
        #expect(try left([("a", size, 0)], disk(available, least: least)).isEmpty == fits)
    }

    @Test func sizesThatOverflowDoNotFit() throws {
        #expect(try left([("a", .max, 0), ("b", .max, 0)], disk(.max)) == ["b"])
    }

    @Test func whatIsNotFetchedNowNeedsNoRoom() throws {
        let files: [(String, Int64?, Int32)] = [("a", 76, 0), ("b", 50, 0)]
        #expect(try left(files, disk(80)) == ["b"])
        #expect(try left(files, disk(80)) { $0 == 0 } == [])
    }

    @Test func aPartNeedsRoomInTmpToo() throws {
        let disk = DiskSpace([
            DiskVolume(place: "/r", areas: [.caches, .documents], available: 100, least: 0),
            DiskVolume(place: "/r/tmp", areas: [.tmp], available: 10, least: 0),
        ])
        let plan = try plan([("a", 20, 0), ("b", 10, 0), ("c", 10, 0)])
        let shortages = plan.shortages(on: disk)
        #expect(shortages.mapValues(\.place) == [0: "/r/tmp"])
    }

    @Test func theSentenceHasTheNumbers() throws {
        let volume = DiskVolume(place: "/r", areas: [.caches], available: 10, least: 1 << 20)
        #expect(
            volume.shortage(of: 2048, forFileOf: 4096)?.because
                == "no room for 2.0 KiB: /r has 10 B left, and 1.0 MiB stay free")
        let full = DiskVolume(place: "/r", areas: [.caches], available: -5, least: 0)
        let shortage = full.shortage(of: nil, forFileOf: nil)
        #expect(shortage?.because == "no room for a file of unknown size: /r has 0 B left")
        #expect(shortage?.remedy == Remedy(.freeSpace))
    }

    @Test func sizesOfEarlierAnswersCount() throws {
        var plan = try plan([("a", nil, 0), ("b", 7, 0)])
        plan.learn([(try Target("Caches/a"), 90), (try Target("Caches/b"), 90)])
        #expect(plan.steps.map(\.size) == [90, 7])
        #expect(plan.shortages(on: disk(50)).keys.sorted() == [0])
    }
}
