import MirrorModel
import Testing

/// A decision that is written down can be made again, and gives nothing away.
@Suite struct RecordedDecisionTests {
    /// What is left out of a recorded decision matters to none of the reconciler's rules.
    @Test(arguments: DecisionCell.Wish.allCases)
    func aRecordedDecisionIsMadeAgainAsItWas(wish: DecisionCell.Wish) throws {
        for cell in DecisionCell.all(of: wish) {
            var situation = try cell.situation()
            situation.sources = situation.sources.map(Self.withQuery)
            situation.record?.provenance?.source = Self.withQuery(DecisionCell.key("origin"))
            let reconciler = try cell.reconciler()
            let decision = reconciler.step(for: situation, now: DecisionCell.now)
            let recorded = RecordedDecision(of: situation, by: reconciler, now: DecisionCell.now)
            #expect(recorded.words == DecisionWords(decision), "\(cell)")
            #expect(recorded.decidedAgain() == recorded.words, "\(cell)")
        }
    }

    @Test func queriesHeadersBodiesAndUserNamesAreLeftOut() throws {
        let target = try Target("Caches/a.bin")
        var resource = Resource(
            target: target,
            url: try SourceURL("https://alice:hunter2@h.example/a.bin?token=swordfish"),
            headers: [try HeaderField(name: "Authorization", value: Template(literal: "xyzzy"))])
        resource.mirrors = [Source(url: try SourceURL("https://m.example/a?key=plugh"))]
        resource.method = .post(body: Template(literal: "body=plover"))
        let key = Self.withQuery(SourceKey(text: "https://h.example/a.bin"))
        var situation = Situation(resource: resource, owner: "maps", sources: [key])
        let digest = try Content.recorded.digest(.sha256)
        var record = IndexRecord(
            target: target, owner: "maps",
            stamp: FileStamp(size: 1, modified: 2, changed: 3, inode: 4), sha256: digest,
            verified: .size, promotedAt: DecisionCell.now)
        record.provenance = Provenance(source: key, answeredBy: "https://h.example/a.bin")
        situation.record = record
        situation.orphan = record
        let tag = try #require(EntityTag("\"v1\""))
        situation.parts = [
            PartRecord(
                name: "a.part", target: target,
                identity: .version(
                    Provenance(source: key, answeredBy: "https://h.example/a.bin"),
                    .entityTag(tag)), total: nil,
                provenance: Provenance(source: key, answeredBy: ""), validators: Validators())
        ]
        var json = JSONWriter()
        RecordedDecision(of: situation, by: Reconciler(), now: DecisionCell.now).write(to: &json)
        let text = String(decoding: json.take(), as: UTF8.self)
        #expect(text.contains("https://h.example/a.bin?1"))
        for secret in [
            "hunter2", "alice", "swordfish", "xyzzy", "plugh", "plover", Self.queryHash,
        ] {
            #expect(!text.contains(secret), "\(secret)")
        }
    }

    /// Two queries differ in a recorded decision exactly where they differed before.
    @Test func equalQueriesStayEqualAndOthersDiffer() throws {
        let (first, second) = ("https://h.example/a?", "https://h.example/a?")
        let keys = [first + "aa", second + "bb", first + "aa"].map(SourceKey.init(text:))
        let resource = Resource(
            target: try Target("Caches/a"), url: try SourceURL("https://h.example/a"))
        let recorded = RecordedDecision(
            of: Situation(resource: resource, owner: "maps", sources: keys), by: Reconciler(),
            now: DecisionCell.now)
        #expect(
            recorded.situation.sources.map(\.text) == [first + "1", second + "2", first + "1"])
    }

    @Test func aDecisionThatDiffersIsReported() throws {
        let resource = Resource(
            target: try Target("Caches/a"), url: try SourceURL("https://h.example/a"))
        let recorded = RecordedDecision(
            of: Situation(resource: resource, owner: "maps", sources: []), by: Reconciler(),
            now: DecisionCell.now)
        var words = recorded.words
        words.because = "because I say so"
        let other = RecordedDecision(
            situation: recorded.situation, options: [], now: recorded.now, words: words)
        let report = ReplayReport(of: [recorded, other])
        #expect(report.entries.map(\.isSame) == [true, false])
        #expect(report.differences.map(\.recorded.because) == ["because I say so"])
    }

    private static let queryHash = String(repeating: "5f", count: 32)

    private static func withQuery(_ key: SourceKey) -> SourceKey {
        SourceKey(text: key.text + "?" + queryHash)
    }
}
