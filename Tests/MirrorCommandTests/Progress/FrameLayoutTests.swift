@testable import MirrorKit
import Testing

@testable import mirror

/// What a terminal shows of a run, by state, columns and time.
@Suite struct FrameLayoutTests {
    private var layout = FrameLayout()
    private var totals = RunTotals()
    private static let now = Instant(milliseconds: 100_000)

    private mutating func tell(_ body: Event.Body, at milliseconds: Int64 = 99_000) {
        layout.board.apply(
            Event(
                run: "", time: Instant(milliseconds: milliseconds), body: body, totals: totals))
    }

    private mutating func start(
        _ path: String, size: Int64? = 3 << 30, offset: Int64 = 0,
        source: String? = "https://h.example/x",
        at time: Int64 = 99_000
    ) throws {
        tell(
            .start(
                .init(
                    target: try Target(path), step: .fetch, reason: .missing, source: source,
                    size: size, offset: offset)), at: time)
    }

    private mutating func progress(
        _ path: String, _ bytes: Int64, of size: Int64? = 3 << 30, rate: Int64 = 0,
        stage: TransferStage = .receiving, at time: Int64 = 99_000
    ) throws {
        tell(
            .progress(
                .init(target: try Target(path), bytes: bytes, size: size, rate: rate, stage: stage)),
            at: time)
    }

    private mutating func done(_ path: String, at time: Int64) throws {
        tell(
            .done(
                .init(
                    target: try Target(path), step: .fetch, outcome: .fetched, reason: .missing,
                    verified: .digest)), at: time)
    }

    private func lines(_ columns: Int, rows: Int = 24, now: Instant = FrameLayoutTests.now)
        -> [String]
    {
        layout.lines(columns: columns, rows: rows, now: now)
    }

    private func line(_ columns: Int = 80) -> String { lines(columns)[0] }

    /// What stands behind the name.
    private func words(_ columns: Int = 80) -> String {
        let name = (columns - 1) * 2 / 5 + 2
        return String(String.UnicodeScalarView(line(columns).unicodeScalars.dropFirst(name)))
    }

    // MARK: What a transfer is doing

    @Test mutating func transferThatWaitsForItsServerIsConnecting() throws {
        try start("Documents/world.pmtiles")
        #expect(line() == "Documents/world.pmtiles          connecting")
    }

    /// A frame that fills the screen cannot be drawn over.
    @Test mutating func aFrameLeavesARowFree() throws {
        for name in ["a", "b", "c"] { try start("Documents/\(name).pmtiles") }
        let whole = layout.lines(columns: 80, rows: 24, now: Self.now)
        for rows in 1...4 {
            let lines = layout.lines(columns: 80, rows: rows, now: Self.now)
            #expect(lines.count <= max(1, rows - 1))
            #expect(lines.last == whole.last)
        }
    }

    @Test mutating func resumedTransferSaysWhere() throws {
        try start("Documents/world.pmtiles", offset: 1_288_490_188)
        #expect(words() == "resuming at 1.2 GiB")
        try progress("Documents/world.pmtiles", 1_300_000_000)
        #expect(words().hasSuffix("40 %  1.2 GiB of 3.0 GiB"))
    }

    @Test mutating func waitSaysHowLongWhyAndWhichTry() throws {
        try start("Caches/a")
        var cause = MirrorError(.httpStatus, "no")
        cause.status = 503
        tell(
            .retry(
                .init(
                    target: try Target("Caches/a"), cause: cause, attempt: 5, wait: 8_400,
                    tries: (2, 4))), at: 100_000)
        #expect(words() == "waiting 9 s: 503, try 2 of 4")
        #expect(
            layout.lines(columns: 80, rows: 24, now: Instant(milliseconds: 109_000))[0]
                .hasSuffix("trying again: 503, try 2 of 4"))
        try progress("Caches/a", 1, at: 109_000)
        #expect(!words().contains("503"))
    }

    @Test mutating func waitWithoutAStatusNamesItsKind() throws {
        try start("Caches/a")
        tell(
            .retry(
                .init(
                    target: try Target("Caches/a"), cause: MirrorError(.connectionLost, "no"),
                    attempt: 2, wait: 1000)), at: 100_000)
        #expect(words() == "waiting 1 s: connection lost")
    }

    @Test(arguments: [
        (96_000, "0 %  0 B of 3.0 GiB"), (95_000, "stalled 5 s"), (88_000, "stalled 12 s"),
    ])
    mutating func silenceIsAStallAfterFiveSeconds(last: Int64, words: String) throws {
        try start("Caches/a", at: 1000)
        try progress("Caches/a", 1, at: last)
        #expect(
            self.words().contains(words) || words.contains("0 B") && self.words().contains("1 B"))
    }

    /// Under a rate limit, silence of one file while others get bytes is the limit's.
    @Test mutating func aRateLimitIsNoStall() throws {
        try start("Caches/a", at: 1000)
        try progress("Caches/a", 1, at: 90_000)
        layout.isRateLimited = true
        #expect(words() == "stalled 10 s")
        totals.rate = 200 << 10
        try progress("Caches/b", 1 << 20, at: 99_500)
        #expect(words() == "held back by --limit-rate")
    }

    /// What goes of a long path are its folders, and then the end of the name.
    @Test mutating func aLongPathKeepsTheBeginningOfItsName() throws {
        try start("Caches/python/a/b/numpy-2.0-cp312.whl", at: 1000)
        #expect(line(80).hasPrefix("…python/a/b/numpy-2.0-cp312.whl  "))
        layout = FrameLayout()
        try start("Caches/python/numpy-2.0-cp312-cp312-manylinux_2_17_x86_64.whl", at: 1000)
        #expect(line(80).hasPrefix("numpy-2.0-cp312-cp312-manylinu…  "))
    }

    @Test(arguments: [(TransferStage.verifying, "verifying"), (.writing, "writing")])
    mutating func stageOfCompleteBytesIsNamed(stage: TransferStage, word: String) throws {
        try start("Caches/a", at: 1000)
        try progress("Caches/a", 3 << 30, stage: stage, at: 1000)
        #expect(words() == word)
    }

    @Test mutating func copyAndRestartAreNamed() throws {
        try start("Caches/a", source: nil)
        #expect(words() == "copying")
        try start("Caches/b")
        tell(
            .restart(
                .init(
                    target: try Target("Caches/b"), cause: MirrorError(.sourceChanged, "x"),
                    attempt: 1, wait: 0)))
        #expect(lines(80)[1].hasSuffix("starting over"))
    }

    // MARK: Many files

    @Test mutating func smallFilesShareALineWithTheirRate() throws {
        for number in 0..<300 {
            let time = 97_000 + Int64(number) * 10
            try start("Caches/icons/\(number)", size: 2000, at: time)
            try done("Caches/icons/\(number)", at: time + 5)
        }
        #expect(lines(80)[0] == "300 small files, 100 a second  Caches/icons/299")
        #expect(lines(80).count == 2)
        // Two seconds after the last one the line is gone.
        #expect(lines(80, now: Instant(milliseconds: 102_500)).count == 1)
    }

    @Test mutating func aSlowSmallFileGetsALine() throws {
        try start("Caches/a", size: 100, at: 99_500)
        #expect(lines(80).count == 1)
        #expect(lines(80, now: Instant(milliseconds: 100_500)).count == 2)
    }

    @Test mutating func asManyTransfersHaveLinesAsFit() throws {
        for number in 0..<30 { try start("Caches/\(number)") }
        #expect(lines(80).count == 18)
        #expect(lines(80)[16] == "… and 14 more")
        #expect(lines(80, rows: 10).count == 7)
        #expect(lines(80, rows: 2).count == 1)
    }

    // MARK: Width

    private mutating func run() throws {
        totals.transfers = 5000
        totals.ended = 12
        totals.failed = 2
        totals.bytes = 1_395_864_371
        totals.expectedBytes = 8_697_308_774
        totals.rate = 47_395_635
        totals.secondsLeft = 154
        try start("Documents/maps/world-2026-11.pmtiles", at: 1000)
        try start("Caches/地図/日本/東京.pmtiles", at: 1000)
        try progress("Documents/maps/world-2026-11.pmtiles", 1_127_428_915, rate: 42_000_000)
        try progress("Caches/地図/日本/東京.pmtiles", 7 << 20, of: nil, rate: 5_395_635)
        layout.elapsed = 42
    }

    @Test(arguments: [
        (
            40,
            [
                "…-2026-11.pmtiles  35 %  40.1 MiB/s", "…ps/東京.pmtiles",
                "12/5000  16 %  2 min 34 s left",
            ]
        )
    ])
    mutating func frameFitsNarrowTerminals(columns: Int, expected: [String]) throws {
        try run()
        let found = lines(columns)
        #expect(found[2] == expected[2], "\(found)")
    }

    @Test(arguments: [8, 20, 40, 60, 80, 100, 160, 250])
    mutating func everyLineFitsAndTheTimeLeftStays(columns: Int) throws {
        try run()
        for isColored in [false, true] {
            layout.style.isColored = isColored
            let found = lines(columns)
            #expect(found.count == 3)
            for line in found {
                #expect(TerminalFrame.width(of: line) < max(columns, 9), "\(line)")
            }
            if columns >= 20 { #expect(found[2].contains("2 min 34 s left"), "\(found)") }
        }
    }

    @Test(arguments: [
        (20, "2 min 34 s left"), (30, "16 %  2 min 34 s left"),
        (40, "12/5000  16 %  2 min 34 s left"),
        (60, "12 of 5,000 files  16 %  45.2 MiB/s  2 min 34 s left"),
        (80, "12 of 5,000 files  16 %  1.3 GiB of 8.1 GiB  45.2 MiB/s  2 min 34 s left  0:42"),
    ])
    mutating func totalShedsDetailAndNeverTheTimeLeft(columns: Int, text: String) throws {
        try run()
        let found = try #require(lines(columns + (columns == 80 ? 4 : 0)).last)
        #expect(found == text)
    }

    @Test mutating func wideTotalHasABar() throws {
        try run()
        let found = try #require(lines(160).last)
        #expect(found.hasPrefix("12 of 5,000 files  ━━━━━━╌╌"))
        #expect(found.hasSuffix("╌  16 %  1.3 GiB of 8.1 GiB  45.2 MiB/s  2 min 34 s left  0:42"))
        layout.style.isUnicode = false
        #expect(try #require(lines(160).last).contains("======------"))
    }

    @Test mutating func totalGoesByCountWhereSizesAreUnknown() throws {
        totals.transfers = 10
        totals.ended = 5
        totals.unknownSizes = 5
        totals.bytes = 5000
        totals.secondsLeft = 7
        try start("Caches/a", size: nil, at: 99_900)
        #expect(
            lines(70).last == "5 of 10 files  50 %  4.9 KiB + 5 of unknown size  7 s left  0:00")
    }

    @Test mutating func timeLeftOfASilentRunIsUnknown() throws {
        try run()
        #expect(lines(80, now: Instant(milliseconds: 104_001)).last?.contains("? left") == true)
    }

    // MARK: Other work

    @Test(
        arguments: [
            (
                1000, 250, 1_000_000, 4_000_000,
                "reading files: 250 of 1,000  25 %  976.6 KiB of 3.8 MiB  488.3 KiB/s  6 s left  0:03"
            ),
            (1000, 250, 0, nil, "reading files: 250 of 1,000  25 %  6 s left  0:03"),
            (
                nil, 0, 2_097_152, 4_194_304,
                "reading files  50 %  2.0 MiB of 4.0 MiB  1.0 MiB/s  2 s left  0:03"
            ),
            (nil, 0, 0, nil, "reading files  ? left  0:03"),
        ] as [(Int?, Int, Int64, Int64?, String)])
    mutating func workWithoutTransfersHasTheSameTotal(
        total: Int?, done: Int, bytes: Int64, totalBytes: Int64?, text: String
    ) {
        var stage = StageProgress(words: "reading files")
        stage.activity.total = total
        stage.activity.done = done
        stage.activity.bytes = bytes
        stage.activity.totalBytes = totalBytes
        stage.milliseconds = 2000
        layout.stage = stage
        layout.elapsed = 3
        #expect(lines(text.count + 2).last == text)
        #expect(lines(40).last?.contains(" left") == true)
    }

    @Test mutating func aFileBeingReadIsAboveTheTotal() {
        layout.stage = StageProgress(words: "reading files")
        layout.stage?.activity.name = "Caches/\u{1B}[2Ja"
        #expect(lines(80)[0] == "Caches/\\u{1b}[2Ja")
    }

    @Test mutating func removalsAndCopiesAreCounted() throws {
        var plan = PlanTotals(
            of: Plan(
                root: "", manifests: [], steps: StepList(of: []), now: Self.now, orphansLeft: 0))
        plan.steps = [.remove: 4, .copy: 2]
        tell(.plan(plan), at: 99_000)
        tell(.removed(.init(target: try Target("Caches/a"), reason: .missing, size: nil)))
        #expect(lines(40).last == "1 of 6 files  16 %  5 s left  0:00")
    }

    @Test(
        arguments: [(0, "0:00"), (59, "0:59"), (61, "1:01"), (3723, "1:02:03")] as [(Int64, String)]
    )
    func elapsedTimeIsAClock(seconds: Int64, text: String) {
        #expect(FrameLayout.clock(seconds) == text)
    }
}
