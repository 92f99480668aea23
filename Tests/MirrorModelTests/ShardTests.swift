import Testing

@testable import MirrorKit

/// Which targets each of several processes has.
struct ShardTests {
    /// Indexes on disks depend on these numbers.
    @Test(arguments: [
        ("Documents/a", 5, 2), ("Documents/b", 4, 1), ("Caches/tiles/7/1.png", 6, 2),
        ("tmp/x", 7, 3),
    ])
    func aTargetStaysInItsShard(path: String, ofEight: Int, ofThree: Int) throws {
        for (count, number) in [(8, ofEight), (3, ofThree)] {
            let having = try (1...count).filter { try Shard("\($0)/\(count)").has(path.utf8) }
            #expect(having == [number])
        }
    }

    @Test func shardsHaveAboutAsManyTargetsEach() throws {
        let paths = (0..<20_000).map { "Caches/tiles/\($0 / 100)/\($0 % 100).png" }
        for number in 1...7 {
            let shard = try Shard("\(number)/7")
            let count = paths.count { shard.has($0.utf8) }
            #expect((2_600...3_100).contains(count), "shard \(number) has \(count)")
        }
    }

    @Test func theFirstShardHasAllNamesOfServers() throws {
        for count in [1, 2, 9] {
            let having = try (1...count).filter {
                try Shard("\($0)/\(count)").has("Documents/b".utf8, isNamedByServer: true)
            }
            #expect(having == [1])
        }
    }

    @Test(arguments: ["1/1", "3/8", "65536/65536"]) func shardsAreRead(text: String) throws {
        let shard = try Shard(text)
        #expect(shard.text == text)
        #expect(shard.isWhole == (text == "1/1"))
        if !shard.isWhole {
            let name = String(try #require(shard.folder.split(separator: "/").last))
            #expect(Shard(folderName: name) == shard)
        }
    }

    @Test(arguments: [
        "", "3", "0/8", "9/8", "3/0", "3/", "/8", "3/8/9", "03/8", "+3/8", "-1/8", "3-of-8",
        "1/65537",
        "99999999999999999999/99999999999999999999", "auto", "3 /8",
    ])
    func otherTextsAreRefused(text: String) {
        let error = #expect(throws: MirrorError.self) { try Shard(text) }
        #expect(error?.code == .usage)
    }

    @Test(arguments: ["3-of-", "of", "3-8", "3-of-8-", "03-of-8", "a-of-b", "9-of-8", ".mirror"])
    func otherFoldersAreNoShards(name: String) { #expect(Shard(folderName: name) == nil) }

    @Test func tagsOfShardsDiffer() throws {
        #expect(Shard.whole.tag == "")
        let tags = try (2...40).flatMap { count in
            try (1...count).map { try Shard("\($0)/\(count)").tag }
        }
        #expect(tags.allSatisfy { $0.utf8.count == 8 })
        #expect(Set(tags).count == tags.count)
    }

    @Test func numbersAreDivided() throws {
        let shard = try Shard("2/4")
        #expect(shard.share(of: 1_000) == 250)
        #expect(shard.share(of: 3) == 1, "a share is never nothing")
        #expect(shard.share(of: 0) == 0, "0 may mean no limit")
        #expect(Shard.whole.share(of: 1_000) == 1_000)
        var configuration = Configuration()
        configuration.maxTransfer = 4_000
        configuration.limitRate = RateLimit(text: "08:00-18:00 400, otherwise 0")
        let own = configuration.share(of: shard)
        #expect(own.maxTransfer == 1_000)
        #expect(own.limitRate?.description == "08:00-18:00 100, otherwise 0")
        #expect(TransferBudget(text: "40MB/day")?.share(of: shard).bytes == 10_000_000)
    }
}
