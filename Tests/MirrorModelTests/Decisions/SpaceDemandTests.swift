@testable import MirrorKit
import Testing

/// What does not fit on a file system is refused, and named.
@Suite struct SpaceDemandTests {
    private func demand(_ sizes: [Int64?]) throws -> SpaceDemand {
        var demand = SpaceDemand()
        for (number, size) in sizes.enumerated() {
            let target = try Target("Caches/\(number)")
            demand.add(size, for: target)
        }
        return demand
    }

    @Test(
        arguments: [
            ([100], 199, 100, true), ([100], 200, 100, false), ([nil], 99, 100, true),
            ([nil], 100, 100, false), ([0], 0, 100, false), ([], 0, 100, false),
            ([nil, 50, 50], 199, 100, true), ([.max, .max], .max - 1, 0, true),
        ] as [([Int64?], Int64, Int64, Bool)])
    func theBytesAndWhatStaysFreeMustFit(
        sizes: [Int64?], available: Int64, least: Int64, isRefused: Bool
    ) throws {
        let refusal = try demand(sizes).refusal(at: "/r", available: available, least: least)
        #expect((refusal?.code == .spaceLimit) == isRefused)
    }

    @Test func theSentenceNamesTargetPlaceAndNumbers() throws {
        let one = try demand([nil]).refusal(at: "/r", available: 10, least: 1 << 20)
        #expect(
            one?.message
                == "Caches/0: no room for 1 of unknown size: /r has 10 B left, and 1.0 MiB stay free."
        )
        let three = try demand([1024, nil, 1024]).refusal(at: "/r", available: 10, least: 0)
        #expect(
            three?.message.hasPrefix(
                "Caches/0 and 2 more files: no room for 2.0 KiB + 1 of unknown size: /r has")
                == true)
    }

    /// Parts on another file system than their files: they are there one after the other.
    @Test(arguments: [false, true])
    func filesThatStayAddToThoseThatPass(staysFirst: Bool) throws {
        let target = try Target("tmp/a")
        var demand = SpaceDemand()
        if staysFirst { demand.add(10, for: target) }
        for size: Int64 in [3, 5] { demand.passThrough(size, for: target) }
        if !staysFirst { demand.add(10, for: target) }
        #expect(demand.bytes == 15)
    }

    @Test func passThroughNeedsSpaceForTheLargestFile() throws {
        let target = try Target("Caches/a")
        var demand = SpaceDemand()
        for size in [10, 300, 20] as [Int64] {
            demand.passThrough(size, for: target)
        }
        #expect(demand.bytes == 300)
    }
}
