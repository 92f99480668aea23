@testable import MirrorKit
import Testing

/// What a plan comes to, and the documents that scripts read.
@Suite struct PlanTests {
    static func step(
        _ path: String, _ kind: Step.Kind, _ means: Step.Means, size: Int64? = nil
    ) throws -> Step {
        Step(
            target: try Target(path), manifest: 0, resource: 0, kind: kind, reason: .missing,
            means: means, existing: .nothing, size: size)
    }

    static func plan(_ steps: [Step], orphansLeft: Int = 0) throws -> Plan {
        let resource = Resource(
            target: try Target("Caches/a"),
            url: try SourceURL("https://a.example/x?token=secret"))
        return Plan(
            root: "/r", manifests: [Manifest(name: "m", resources: [resource])], steps: steps,
            now: Instant(seconds: 0), orphansLeft: orphansLeft)
    }

    static func part(_ length: Int64) throws -> PartRecord {
        try PartFitTests.part(.anonymous, lengths: [length])
    }

    static func version(_ tag: String?) throws -> LocalVersion {
        LocalVersion(
            provenance: DecisionCell.provenance("a"),
            validators: Validators(entityTag: tag.flatMap(EntityTag.init)), size: 7,
            sha256: try Content.recorded.digest(.sha256))
    }

    static let whole = Step.Means.transfer(part: nil, ifChangedSince: nil)

    @Test func totalsAddWhatIsKnown() throws {
        let totals = PlanTotals(
            of: try Self.plan(
                [
                    Self.step("Caches/a", .fetch, Self.whole, size: 100),
                    Self.step("Caches/b", .fetch, Self.whole),
                    Self.step(
                        "Caches/c", .resume,
                        .transfer(part: Self.part(40), ifChangedSince: nil), size: 100),
                    Self.step(
                        "Caches/d", .copy, .copy(of: try Target("Caches/z")), size: 30),
                    Self.step(
                        "Caches/e", .revalidate,
                        .transfer(part: nil, ifChangedSince: Self.version("\"v1\""))),
                    Self.step("Caches/f", .keep, .nothing, size: 1000),
                ], orphansLeft: 4))
        #expect(totals.bytesToFetch == 160)
        #expect(totals.bytesReused == 40)
        #expect(totals.bytesToCopy == 30)
        #expect(totals.unknownSizes == 1)
        #expect(totals.requests == 4)
        #expect(totals.orphans == 4)
        #expect(totals.steps[.fetch] == 2)
        #expect(totals.steps.values.reduce(0, +) == 6)
    }

    @Test func anUnconditionalRefetchIsOfUnknownSize() throws {
        let step = try Self.step(
            "Documents/a", .edited,
            .transfer(part: nil, ifChangedSince: Self.version(nil)))
        #expect(PlanTotals(of: try Self.plan([step])).unknownSizes == 1)
    }

    @Test func totalsStopAtTheGreatestNumber() throws {
        let copy = Step.Means.copy(of: try Target("Caches/z"))
        let resume = Step.Means.transfer(part: try Self.part(.max), ifChangedSince: nil)
        let totals = PlanTotals(
            of: try Self.plan([
                Self.step("Caches/a", .fetch, Self.whole, size: .max),
                Self.step("Caches/b", .fetch, Self.whole, size: .max),
                Self.step("Caches/c", .copy, copy, size: .max),
                Self.step("Caches/d", .copy, copy, size: 1),
                Self.step("Caches/e", .resume, resume, size: 10),
                Self.step("Caches/f", .resume, resume, size: .max),
            ]))
        #expect(totals.bytesToFetch == .max)
        #expect(totals.bytesToCopy == .max)
        #expect(totals.bytesReused == .max)
    }

    @Test func nothingToDoDiffersFromAnObstacle() throws {
        #expect(try Self.plan([]).isEmpty)
        #expect(try Self.plan([Self.step("Caches/a", .keep, .nothing)]).isEmpty)
        #expect(try Self.plan([Self.step("Documents/a", .edited, .nothing)]).isEmpty)
        #expect(!(try Self.plan([Self.step("Caches/a", .conflict, .nothing)]).isEmpty))
        #expect(!(try Self.plan([Self.step("Caches/a", .fetch, Self.whole)]).isEmpty))
        #expect(!(try Self.plan([Self.step("Caches/a", .remove, .removal)]).isEmpty))
    }

    @Test func thePlanIsOneDocumentWithoutSecrets() throws {
        let plan = try Self.plan(
            [
                Self.step("Caches/a", .fetch, Self.whole, size: 5),
                Self.step("Caches/b", .copy, .copy(of: try Target("Caches/a"))),
            ])
        var bytes: [UInt8] = []
        plan.write { bytes += $0 }
        let text = String(decoding: bytes, as: UTF8.self)
        let steps =
            #"{"v":1,"root":"/r","steps":[{"path":"Caches/a","step":"fetch","reason":"missing","#
            + #""because":"not there","source":"https://a.example/x","size":5,"offset":0},"#
            + #"{"path":"Caches/b","step":"copy","reason":"missing","because":"not there","#
            + #""source":"Caches/a","size":null,"offset":0}],"totals":{"#
        #expect(text.hasPrefix(steps), "\(text)")
        #expect(text.hasSuffix("}}\n"))
        #expect(!text.contains("secret"))
    }

    @Test func aLargePlanIsHandedOverInChunks() throws {
        let step = try Self.step("Caches/a", .fetch, Self.whole)
        var sizes: [Int] = []
        try Self.plan(Array(repeating: step, count: 3000)).write { sizes.append($0.count) }
        #expect(sizes.count > 3)
        #expect(sizes.allSatisfy { $0 < 70_000 })
    }

    /// Scripts read these names, in this order.
    @Test func theSummaryNamesEveryNumber() {
        var json = JSONWriter()
        json.object { Summary().writeMembers(to: &$0) }
        let text = String(decoding: json.bytes, as: UTF8.self)
        let counts = [
            "resources", "fetched", "resumed", "updated", "revalidated", "unchanged", "copied",
            "moved", "adopted", "kept", "repaired", "edited", "conflicts", "stale", "deferred",
            "evicted", "noRoom", "skipped",
            "interrupted", "failed", "failedOptional", "removed", "orphans", "unverified",
            "setsLeft", "bytesReceived", "bytesReused", "partBytes", "requests",
        ]
        let expected =
            #"{"exit":0,"error":null,"root":"","#
            + counts.map { "\"\($0)\":0" }.joined(separator: ",") + #","seconds":0.000}"#
        #expect(text == expected)
    }
}
