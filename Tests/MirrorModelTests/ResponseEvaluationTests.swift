@testable import MirrorKit
import Testing

/// Every answer of the resume rules, held against a part of 4 of 10 bytes with the tag "a".
@Suite struct ResponseEvaluationTests {
    enum Kind: Equatable {
        case receive(from: Int64)
        case notModified, partIsComplete, startOver, askPlainly, askWhole, askWithoutRange
        case askUnshared, redirect
        case refuse(FailureCode)
        case retry(after: Int64?)
    }

    private static let key = SourceKey(text: "https://a.example/f")
    private static let provenance = Provenance(source: key, answeredBy: "https://a.example/f")
    static let pin = Digest(.sha256, bytes: Array(repeating: 7, count: 32))

    private func url(_ text: String = "https://a.example/f") throws -> SourceURL {
        try SourceURL(text)
    }

    private func evaluator(
        tag: String? = "\"a\"", total: Int64? = 10, pinned: Bool = false, size: Int64? = nil,
        source: SourceKey = key, answeredBy: String = "https://a.example/f"
    ) throws -> ResponseEvaluator {
        let validators = Validators(of: ResponseHead(status: 200, tag.map { [("ETag", $0)] } ?? []))
        var digests: [Digest] = []
        var identity = validators.strong.map { PartIdentity.version(Self.provenance, $0) }
        if pinned, let pin = Self.pin {
            digests = [pin]
            identity = .digest(pin)
        }
        let record = try PartRecord(
            name: "x", target: Target("Caches/f"), identity: identity ?? .anonymous, total: total,
            provenance: Self.provenance, validators: validators)
        var plan = RequestPlan(source: 0, url: try url(answeredBy))
        plan.offset = 4
        plan.ifRange = validators.strong
        return ResponseEvaluator(
            plan: plan, source: source, part: PartState(record, length: 4),
            expectation: Expectation(size: size, digests: digests))
    }

    private func kind(_ verdict: ResponseEvaluation) -> Kind {
        switch verdict {
        case .receive(let reception): .receive(from: reception.offset)
        case .notModified: .notModified
        case .partIsComplete: .partIsComplete
        case .startOver: .startOver
        case .askPlainly: .askPlainly
        case .askWhole: .askWhole
        case .askWithoutRange: .askWithoutRange
        case .askUnshared: .askUnshared
        case .redirect: .redirect
        case .retry(_, let after): .retry(after: after)
        case .refuse(let refusal): .refuse(refusal.code)
        }
    }

    private func judge(
        _ evaluator: borrowing ResponseEvaluator, _ status: Int, _ fields: [(String, String)]
    ) -> Kind {
        kind(evaluator.judge(ResponseHead(status: status, fields), at: Instant(seconds: 0)))
    }

    @Test(
        arguments: [
            ([("Content-Range", "bytes 4-9/10"), ("ETag", "\"a\"")], .receive(from: 4)),
            ([("Content-Range", "bytes 4-6/10"), ("ETag", "\"a\"")], .receive(from: 4)),
            (
                [("Content-Range", "bytes 4-9/10"), ("ETag", "\"a\""), ("Content-Length", "6")],
                .receive(from: 4)
            ),
            (
                [("Content-Range", "bytes 4-9/10"), ("ETag", "\"a\""), ("Content-Length", "5")],
                .startOver
            ),
            ([("Content-Range", "bytes 4-9/10"), ("ETag", "\"b\"")], .startOver),
            ([("Content-Range", "bytes 4-9/10"), ("ETag", "W/\"a\"")], .startOver),
            ([("Content-Range", "bytes 4-9/10")], .startOver),
            ([("Content-Range", "bytes 4-10/11"), ("ETag", "\"a\"")], .startOver),
            ([("Content-Range", "bytes 4-9/*"), ("ETag", "\"a\"")], .startOver),
            ([("Content-Range", "bytes 3-9/10"), ("ETag", "\"a\"")], .startOver),
            ([("Content-Range", "bytes 0-9/10"), ("ETag", "\"a\"")], .startOver),
            ([("Content-Range", "bytes */10"), ("ETag", "\"a\"")], .startOver),
            ([("ETag", "\"a\"")], .startOver),
            (
                [
                    ("Content-Range", "bytes 4-9/10"), ("Content-Range", "bytes 4-9/10"),
                    ("ETag", "\"a\""),
                ], .startOver
            ),
            (
                [
                    ("Content-Range", "bytes 4-9/10"), ("ETag", "\"a\""),
                    ("Content-Type", "multipart/byteranges; boundary=x"),
                ], .startOver
            ),
            (
                [
                    ("Content-Range", "bytes 4-9/10"), ("ETag", "\"a\""),
                    ("Content-Encoding", "gzip"),
                ], .startOver
            ),
        ] as [([(String, String)], Kind)])
    func aRangeMustBeOfTheVersion(fields: [(String, String)], kind: Kind) throws {
        #expect(judge(try evaluator(), 206, fields) == kind)
    }

    /// Four bytes of ten are in hand, so the rest has six.
    @Test(
        arguments: [
            ([("Content-Length", "10"), ("ETag", "\"a\"")], .receive(from: 0)),
            // Another version may have just that length, or its server sent only the range.
            ([("Content-Length", "6"), ("ETag", "\"b\"")], .askWhole),
            ([("Content-Length", "7"), ("ETag", "\"b\"")], .receive(from: 0)),
            ([("Content-Length", "10")], .receive(from: 0)),
            ([("Content-Length", "7")], .receive(from: 0)),
            ([("Transfer-Encoding", "chunked"), ("ETag", "\"a\"")], .receive(from: 0)),
            ([("Content-Length", "6"), ("ETag", "\"a\"")], .askWhole),
            ([("Content-Length", "11"), ("ETag", "\"a\"")], .askWhole),
            ([("Content-Length", "6")], .askWhole),
            ([("Transfer-Encoding", "chunked")], .askWhole),
            (
                [("Content-Length", "10"), ("ETag", "\"a\""), ("Content-Range", "bytes 4-9/10")],
                .askWhole
            ),
            (
                [("Content-Length", "6"), ("ETag", "\"b\""), ("Content-Range", "bytes 4-9/10")],
                .askWhole
            ),
            ([("Content-Length", "10"), ("Content-Range", "nonsense")], .askWhole),
        ] as [([(String, String)], Kind)])
    func aWholeFileMustNotContradictItself(
        fields: [(String, String)], kind: Kind
    ) throws {
        #expect(judge(try evaluator(), 200, fields) == kind)
    }

    @Test(arguments: [400, 403, 404, 405, 412, 500, 501])
    func aRefusedRangeIsOmittedOnce(status: Int) throws {
        var evaluator = try evaluator()
        #expect(judge(evaluator, status, []) == .askWithoutRange)
        evaluator.plan = evaluator.plan.with { $0.offset = 0 }
        #expect(judge(evaluator, status, []) != .askWithoutRange)
    }

    @Test(
        arguments: [
            ("a.tar.gz", "gzip", true), ("a.tgz", "X-GZIP", true), ("a.br", "br", true),
            ("a.tar.zst", "zstd", true), ("a.XZ", "xz", true), ("a.bz2", "x-bzip2", true),
            ("a.txt", "utf-8", true), ("a.txt", "none", true), ("a.txt", "binary", true),
            ("a.txt", "ISO-8859-1", true), ("a.txt", "gzip", false), ("a.gz", "br", false),
            ("gz", "gzip", false), ("a.gz", "gzip, gzip", false), ("a.txt", "foo", false),
        ])
    func aCodingInTheNameIsNoEncoding(name: String, coding: String, isTaken: Bool) throws {
        var evaluator = try evaluator()
        evaluator.plan = evaluator.plan.with { $0.offset = 0 }
        evaluator.target = try Target("Caches/" + name)
        let kind = judge(evaluator, 200, [("Content-Encoding", coding)])
        #expect(kind == (isTaken ? .receive(from: 0) : .refuse(.encodingRefused)))
    }

    @Test func aPinnedBodyMayBeTheRange() throws {
        let other = ("ETag", "\"b\"")
        #expect(
            judge(try evaluator(pinned: true), 200, [("Content-Length", "6"), other]) == .askWhole)
        #expect(
            judge(try evaluator(pinned: true), 200, [("Content-Length", "7"), other])
                == .receive(from: 0))
        #expect(
            judge(try evaluator(tag: nil, pinned: true), 200, [("Content-Length", "6")])
                == .askWhole)
    }

    @Test func aDoubtfulSizeBlamesNoManifest() throws {
        let fields = [("Content-Length", "6")]
        #expect(judge(try evaluator(pinned: true, size: 10), 200, fields) == .askWhole)
        var plain = try evaluator(pinned: true, size: 10)
        plain.plan = plain.plan.with { $0.offset = 0 }
        #expect(judge(plain, 200, fields) == .refuse(.sizeMismatch))
    }

    @Test func aValidatingDateNamesTheVersion() throws {
        var evaluator = try evaluator(tag: nil)
        let date = try #require(HTTPDate("Sat, 21 Nov 2026 03:56:00 GMT"))
        evaluator.part?.validators = Validators(lastModified: date, strong: .lastModified(date))
        let same = ("Last-Modified", "Sat, 21 Nov 2026 03:56:00 GMT")
        let other = ("Last-Modified", "Sat, 21 Nov 2026 03:56:01 GMT")
        #expect(judge(evaluator, 200, [same, ("Content-Length", "6")]) == .askWhole)
        #expect(judge(evaluator, 200, [same, ("Content-Length", "10")]) == .receive(from: 0))
        #expect(judge(evaluator, 200, [other, ("Content-Length", "7")]) == .receive(from: 0))
    }

    @Test func anUnaskedContentRangeIsRefused() throws {
        var evaluator = try evaluator()
        evaluator.plan = evaluator.plan.with { $0.offset = 0 }
        let fields = [("Content-Length", "10"), ("Content-Range", "bytes 0-9/20")]
        #expect(judge(evaluator, 200, fields) == .refuse(.malformedResponse))
    }

    @Test func aKnownVersionOfAnotherLengthIsDoubted() throws {
        var evaluator = try evaluator()
        let validators = Validators(of: ResponseHead(status: 200, [("ETag", "\"a\"")]))
        let sha256 = try #require(Self.pin)
        evaluator.local = LocalVersion(
            provenance: Self.provenance, validators: validators, size: 10, sha256: sha256)
        evaluator.plan = evaluator.plan.with {
            $0.offset = 0
            $0.condition = .local(validators)
        }
        func answer(_ length: String, _ tag: String) -> Kind {
            judge(evaluator, 200, [("Content-Length", length), ("ETag", tag)])
        }
        #expect(answer("6", "\"a\"") == .askPlainly)
        #expect(answer("10", "\"a\"") == .receive(from: 0))
        #expect(answer("6", "\"b\"") == .receive(from: 0))
        evaluator.plan = evaluator.plan.with { $0.condition = nil }
        #expect(answer("6", "\"a\"") == .receive(from: 0))
    }

    @Test func aRangeThatNobodyAskedForIsRefused() throws {
        var evaluator = try evaluator()
        evaluator.plan = evaluator.plan.with { $0.offset = 0 }
        func answer(_ range: String, length: String? = nil) -> Kind {
            let length = length.map { [("Content-Length", $0)] } ?? []
            return judge(
                evaluator, 206, [("Content-Range", range), ("ETag", "\"a\"")] + length)
        }
        #expect(answer("bytes 0-8/10") == .refuse(.httpStatus))
        #expect(answer("bytes 1-9/10") == .refuse(.httpStatus))
        #expect(answer("bytes 0-9/*") == .refuse(.httpStatus))
        #expect(answer("bytes 0-9/10", length: "9") == .refuse(.malformedResponse))
        // All of it is as good as a 200.
        #expect(answer("bytes 0-9/10") == .receive(from: 0))
        #expect(answer("bytes 0-9/10", length: "10") == .receive(from: 0))
    }

    @Test func onlyPinsContinueFromAnotherPlace() throws {
        let fields = [("Content-Range", "bytes 4-9/10"), ("ETag", "\"other\"")]
        let elsewhere = "https://b.example/f"
        #expect(judge(try evaluator(answeredBy: elsewhere), 206, fields) == .startOver)
        #expect(
            judge(try evaluator(pinned: true, answeredBy: elsewhere), 206, fields)
                == .receive(from: 4))
        #expect(judge(try evaluator(pinned: true), 206, fields) == .startOver)
    }

    @Test func anUnknownTotalNeedsPinAndSize() throws {
        let fields = [("Content-Range", "bytes 4-9/*"), ("ETag", "\"a\"")]
        #expect(judge(try evaluator(pinned: true), 206, fields) == .startOver)
        #expect(judge(try evaluator(pinned: true, size: 10), 206, fields) == .receive(from: 4))
        #expect(judge(try evaluator(size: 10), 206, fields) == .startOver)
    }

    @Test(
        arguments: [
            ("Sat, 21 Nov 2026 03:56:00 GMT", .receive(from: 4)),
            ("Sat, 21 Nov 2026 03:56:01 GMT", .startOver), ("yesterday", .startOver),
            (nil, .startOver),
        ] as [(String?, Kind)])
    func aRangeRepeatsItsValidatingDate(sent: String?, kind: Kind) throws {
        var evaluator = try evaluator(tag: nil)
        let date = try #require(HTTPDate("Sat, 21 Nov 2026 03:56:00 GMT"))
        let strong = StrongValidator.lastModified(date)
        evaluator.part?.validators = Validators(lastModified: date, strong: strong)
        evaluator.part?.identity = .version(Self.provenance, strong)
        evaluator.plan = evaluator.plan.with { $0.ifRange = strong }
        let fields =
            [("Content-Range", "bytes 4-9/10")] + (sent.map { [("Last-Modified", $0)] } ?? [])
        #expect(judge(evaluator, 206, fields) == kind)
    }

    @Test(
        arguments: [
            ("bytes */4", 4, .partIsComplete), ("bytes */5", 4, .startOver),
            ("bytes */4", 10, .startOver), ("bytes */3", 4, .startOver), (nil, 4, .startOver),
            ("bytes */10", 10, .startOver),
        ] as [(String?, Int64, Kind)])
    func a416CompletesOnlyAtTheKnownTotal(
        range: String?, total: Int64, kind: Kind
    ) throws {
        let fields = range.map { [("Content-Range", $0)] } ?? []
        #expect(judge(try evaluator(total: total), 416, fields) == kind)
    }

    @Test func a416OfUnknownTotalNeedsTheTag() throws {
        let evaluator = try evaluator(total: nil)
        #expect(judge(evaluator, 416, [("Content-Range", "bytes */4")]) == .startOver)
        let fields = [("Content-Range", "bytes */4"), ("ETag", "\"a\"")]
        #expect(judge(evaluator, 416, fields) == .partIsComplete)
    }

    @Test(
        arguments: [
            ([], .notModified), ([("ETag", "\"a\"")], .notModified),
            ([("ETag", "\"b\"")], .askPlainly),
            ([("ETag", "W/\"a\"")], .askPlainly), ([("ETag", "a")], .askPlainly),
            ([("ETag", "\"a\""), ("ETag", "\"a\"")], .askPlainly),
        ] as [([(String, String)], Kind)])
    func a304IsBelievedAboutOurVersionOnly(fields: [(String, String)], kind: Kind) throws {
        #expect(judge(try conditional(), 304, fields) == kind)
    }

    @Test func a304WithoutOurConditionIsNotBelieved() throws {
        var evaluator = try conditional()
        let elsewhere = try url("https://b.example/f")
        evaluator.plan = evaluator.plan.with { $0.url = elsewhere }
        #expect(judge(evaluator, 304, []) == .askPlainly)
        evaluator.plan = evaluator.plan.with { $0.condition = nil }
        #expect(judge(evaluator, 304, []) == .refuse(.httpStatus))
        evaluator.plan = evaluator.plan.with { $0.offset = 5 }
        #expect(judge(evaluator, 304, []) == .startOver)
    }

    private func conditional() throws -> ResponseEvaluator {
        let tag = try #require(EntityTag("\"a\""))
        let validators = Validators(entityTag: tag, strong: .entityTag(tag))
        let sha256 = try #require(Self.pin)
        var plan = RequestPlan(source: 0, url: try url())
        plan.condition = .local(validators)
        return ResponseEvaluator(
            plan: plan, source: Self.key,
            local: LocalVersion(
                provenance: Self.provenance, validators: validators, size: 1, sha256: sha256))
    }

    @Test(
        arguments: [
            (200, [("Content-Length", "10")], .receive(from: 0)),
            (200, [("Content-Length", "5, 10")], .refuse(.malformedResponse)),
            (200, [("Content-Encoding", "gzip")], .refuse(.encodingRefused)),
            (200, [], .receive(from: 0)), (201, [], .refuse(.httpStatus)),
            (204, [], .refuse(.httpStatus)), (300, [("Location", "/x")], .refuse(.httpStatus)),
            (302, [], .refuse(.httpStatus)), (302, [("Location", "/x")], .redirect),
            (404, [], .refuse(.httpStatus)), (501, [], .refuse(.httpStatus)),
            (408, [], .retry(after: nil)), (425, [], .retry(after: nil)),
            (429, [("Retry-After", "7")], .retry(after: 7)), (500, [], .retry(after: nil)),
            (502, [], .retry(after: nil)), (503, [("Retry-After", "0")], .retry(after: 0)),
            (504, [], .retry(after: nil)), (416, [], .refuse(.httpStatus)),
        ] as [(Int, [(String, String)], Kind)])
    func plainAnswers(status: Int, fields: [(String, String)], kind: Kind) throws {
        let plain = ResponseEvaluator(
            plan: RequestPlan(source: 0, url: try url()), source: Self.key)
        #expect(judge(plain, status, fields) == kind)
    }

    @Test func whatIsDeclaredIsHeldAgainstTheHead() throws {
        var evaluator = ResponseEvaluator(
            plan: RequestPlan(source: 0, url: try url()), source: Self.key)
        evaluator.expectation = Expectation(size: 11)
        #expect(judge(evaluator, 200, [("Content-Length", "10")]) == .refuse(.sizeMismatch))
        evaluator.expectation = Expectation()
        evaluator.policy.maxSize = 9
        #expect(judge(evaluator, 200, [("Content-Length", "10")]) == .refuse(.tooLarge))
        evaluator.policy.strict = true
        #expect(judge(evaluator, 200, []) == .refuse(.unverifiable))
        evaluator.expectation = Expectation(digests: [try #require(Self.pin)])
        #expect(judge(evaluator, 200, [("Content-Encoding", "gzip")]) == .receive(from: 0))
    }

    @Test func loginPagesAreNoArtifacts() throws {
        var evaluator = ResponseEvaluator(
            plan: RequestPlan(source: 0, url: try url()), source: Self.key)
        let html = [("Content-Type", "text/html; charset=utf-8")]
        #expect(judge(evaluator, 200, html) == .receive(from: 0))
        evaluator.expectation = Expectation(refusesHTML: true)
        #expect(judge(evaluator, 200, html) == .refuse(.typeMismatch))
        evaluator.expectation = Expectation(mediaType: MediaRange("*/*"), refusesHTML: true)
        #expect(judge(evaluator, 200, html) == .receive(from: 0))
        evaluator.expectation = Expectation(
            mediaType: MediaRange("application/json"), refusesHTML: true)
        #expect(judge(evaluator, 200, html) == .refuse(.typeMismatch))
        #expect(judge(evaluator, 200, []) == .receive(from: 0))
    }
}

extension RequestPlan {
    /// The plan with one thing decided otherwise.
    fileprivate func with(_ change: (inout RequestPlan) -> Void) -> RequestPlan {
        var plan = self
        change(&plan)
        return plan
    }
}
