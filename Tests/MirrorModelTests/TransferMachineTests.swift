import Testing

@testable import MirrorKit

@Suite struct TransferMachineTests {
    static let right = Digest(.sha256, bytes: Array(repeating: 1, count: 32))
    static let wrong = Digest(.sha256, bytes: Array(repeating: 2, count: 32))

    static func source(_ name: String) throws -> CandidateSource {
        let url = try SourceURL("https://\(name).example/f")
        return CandidateSource(url: url, key: SourceKey(text: url.withoutSecrets))
    }

    static func machine(
        _ names: [String] = ["a"], isPost: Bool = false, pinned: Bool = false, retries: Int = 4,
        local: LocalVersion? = nil, part: (record: PartRecord, length: Int64)? = nil
    ) throws -> TransferMachine {
        var policy = TransferPolicy()
        policy.retries = retries
        let pin = try #require(right)
        return TransferMachine(
            target: try Target("Caches/f"), sources: try names.map(source), isPost: isPost,
            expectation: Expectation(digests: pinned ? [pin] : []), local: local, part: part,
            policy: policy, jitter: { $0 })
    }

    /// What an action asks for, in few words: `a 4 "x"` is a request to a from byte 4 under If-Range.
    static func words(_ action: TransferAction) -> String {
        switch action.next {
        case .request(let plan):
            ([plan.url.host.prefix { $0 != "." }.description]
                + plan.fields.map { "\($0.name): \($0.value)" }).joined(separator: "; ")
        case .receive(let reception): "receive \(reception.offset)"
        case .wait(let milliseconds): "wait \(milliseconds)"
        case .check: "check"
        case .accept(let verification, _): "accept \(verification)"
        case .confirm: "confirm"
        case .fail(let error): "fail \(error.code.rawValue)\(error.isRetryable ? " retryable" : "")"
        }
    }

    static func head(_ status: Int, _ fields: (String, String)...) -> ResponseHead {
        ResponseHead(status: status, fields)
    }

    static let now = Instant(seconds: 0)
    static let lost = TransportFailure(.connectionLost, "lost", isPassing: true, wasSent: true)
    static let whole = head(200, ("Content-Length", "10"), ("ETag", "\"x\""))
    static let rest = head(
        206, ("Content-Range", "bytes 4-9/10"), ("ETag", "\"x\""), ("Content-Length", "6"))

    static func part(pinned: Bool = false, of name: String = "a") throws -> PartRecord {
        let source = try source(name)
        let provenance = Provenance(source: source.key, answeredBy: source.url.withoutSecrets)
        let validators = Validators(of: whole)
        let strong = try #require(validators.strong)
        return PartRecord(
            name: "x", target: try Target("Caches/f"),
            identity: pinned ? .digest(try #require(right)) : .version(provenance, strong),
            total: 10, provenance: provenance, validators: validators)
    }

    @Test func aPlainTransferIsOneRequest() throws {
        var machine = try Self.machine()
        #expect(Self.words(machine.begin()) == "a")
        #expect(Self.words(machine.answered(Self.whole, at: Self.now)) == "receive 0")
        #expect(Self.words(machine.bodyEnded(length: 10)) == "check")
        let action = machine.checked(size: 10, digests: [try #require(Self.right)])
        #expect(Self.words(action) == "accept size")
        #expect(machine.requests == 1)
    }

    @Test func anInterruptedBodyGoesOnUnderItsTag() throws {
        var machine = try Self.machine()
        _ = machine.begin()
        _ = machine.answered(Self.whole, at: Self.now)
        #expect(Self.words(machine.interrupted(Self.lost, length: 4)) == "wait 500")
        #expect(Self.words(machine.waited()) == "a; Range: bytes=4-; If-Range: \"x\"")
        #expect(Self.words(machine.answered(Self.rest, at: Self.now)) == "receive 4")
        #expect(Self.words(machine.bodyEnded(length: 10)) == "check")
    }

    @Test func aShortBodyWithProgressContinuesAtOnce() throws {
        var machine = try Self.machine()
        _ = machine.begin()
        let whole = Self.head(200, ("Content-Length", "90000"), ("ETag", "\"x\""))
        _ = machine.answered(whole, at: Self.now)
        let action = machine.bodyEnded(length: 40000)
        #expect(Self.words(action) == "a; Range: bytes=40000-; If-Range: \"x\"")
        let rest = Self.head(206, ("Content-Range", "bytes 40000-89999/90000"), ("ETag", "\"x\""))
        _ = machine.answered(rest, at: Self.now)
        #expect(Self.words(machine.bodyEnded(length: 40001)) == "wait 500")
    }

    @Test func transferWithoutAStrongValidatorStartsOver() throws {
        var machine = try Self.machine()
        _ = machine.begin()
        _ = machine.answered(
            Self.head(200, ("Content-Length", "10"), ("ETag", "W/\"x\"")), at: Self.now)
        _ = machine.interrupted(Self.lost, length: 4)
        #expect(Self.words(machine.waited()) == "a")
    }

    @Test func aPinnedMirrorContinuesWithoutIfRange() throws {
        var machine = try Self.machine(["a", "b"], pinned: true)
        _ = machine.begin()
        _ = machine.answered(Self.whole, at: Self.now)
        #expect(Self.words(machine.interrupted(Self.lost, length: 4)) == "b; Range: bytes=4-")
        let rest = Self.head(206, ("Content-Range", "bytes 4-9/10"), ("ETag", "\"y\""))
        #expect(Self.words(machine.answered(rest, at: Self.now)) == "receive 4")
    }

    @Test func unpinnedBytesAreNotContinuedFromAMirror() throws {
        var machine = try Self.machine(["a", "b"])
        _ = machine.begin()
        _ = machine.answered(Self.whole, at: Self.now)
        #expect(Self.words(machine.interrupted(Self.lost, length: 4)) == "b")
    }

    @Test func onlyPinsContinueARefusedBodyElsewhere() throws {
        let refusal = ResponseError(.malformedResponse, "its header lines are longer than 256 KiB")
        var pinned = try Self.machine(["a", "b"], pinned: true)
        _ = pinned.begin()
        _ = pinned.answered(Self.whole, at: Self.now)
        #expect(Self.words(pinned.refused(refusal, length: 4)) == "b; Range: bytes=4-")
        var unpinned = try Self.machine(["a", "b"])
        _ = unpinned.begin()
        _ = unpinned.answered(Self.whole, at: Self.now)
        #expect(Self.words(unpinned.refused(refusal, length: 4)) == "b")
    }

    @Test func anAnswerRefusedEarlyChangesNothing() throws {
        var machine = try Self.machine(
            ["a", "b"], pinned: true, part: (try Self.part(pinned: true), 4))
        _ = machine.begin()
        let refusal = ResponseError(.malformedResponse, "its header lines are longer than 256 KiB")
        #expect(Self.words(machine.refused(refusal)) == "b; Range: bytes=4-")
        #expect(machine.part?.length == 4)
    }

    @Test func aRefusedCompleteBodysSourceIsBlamed() throws {
        var machine = try Self.machine(["a", "b"], pinned: true)
        _ = machine.begin()
        _ = machine.answered(Self.whole, at: Self.now)
        let refusal = ResponseError(.malformedResponse, "its header lines are longer than 256 KiB")
        #expect(Self.words(machine.refused(refusal, length: 10)) == "check")
        let wrong = try #require(Self.wrong)
        #expect(Self.words(machine.checked(size: 10, digests: [wrong])) == "b")
    }

    @Test(arguments: [true, false])
    func aBrokenCompleteBodysSourceIsBlamed(isPassing: Bool) throws {
        var machine = try Self.machine(["a", "b"], pinned: true)
        _ = machine.begin()
        _ = machine.answered(Self.whole, at: Self.now)
        let lost = TransportFailure(
            .connectionLost, "lost", isPassing: isPassing, wasSent: true)
        #expect(Self.words(machine.interrupted(lost, length: 10)) == "check")
        let wrong = try #require(Self.wrong)
        #expect(Self.words(machine.checked(size: 10, digests: [wrong])) == "b")
    }

    @Test func endlessChangesEndInAWholeRequest() throws {
        let part = try Self.part()
        var machine = try Self.machine(part: (part, 4))
        #expect(Self.words(machine.begin()) == "a; Range: bytes=4-; If-Range: \"x\"")
        for tag in ["\"1\"", "\"2\""] {
            let action = machine.answered(
                Self.head(200, ("Content-Length", "10"), ("ETag", tag)), at: Self.now)
            #expect(Self.words(action) == "receive 0")
            #expect(action.dropsPart)
            _ = machine.interrupted(Self.lost, length: 4)
            #expect(
                Self.words(machine.waited())
                    == (tag == "\"1\"" ? "a; Range: bytes=4-; If-Range: \"1\"" : "a"))
        }
    }

    @Test func startingOverCostsNoRetry() throws {
        var machine = try Self.machine(retries: 0, part: (try Self.part(), 4))
        _ = machine.begin()
        let action = machine.answered(
            Self.head(206, ("Content-Range", "bytes 4-9/10"), ("ETag", "\"y\"")), at: Self.now)
        #expect(Self.words(action) == "a")
        #expect(action.dropsPart)
    }

    /// What follows a range of bytes 4 to `last` of a file of 100,000, without retries.
    private func afterRange(to last: Int64) throws -> String {
        var part = try Self.part()
        part.total = 100_000
        var machine = try Self.machine(retries: 0, part: (part, 4))
        _ = machine.begin()
        let range = ("Content-Range", "bytes 4-\(last)/100000")
        _ = machine.answered(Self.head(206, range, ("ETag", "\"x\"")), at: Self.now)
        return Self.words(machine.bodyEnded(length: last + 1))
    }

    @Test func aShortRangeWithEnoughIsProgress() throws {
        #expect(try afterRange(to: 16_387) == "a; Range: bytes=16388-; If-Range: \"x\"")
        #expect(try afterRange(to: 16_386) == "fail connection-lost retryable")
        #expect(try afterRange(to: 4) == "fail connection-lost retryable")
    }

    @Test func aRefusedRangeIsLeftOutOnce() throws {
        var machine = try Self.machine(retries: 0, part: (try Self.part(), 4))
        _ = machine.begin()
        let action = machine.answered(Self.head(403), at: Self.now)
        #expect(Self.words(action) == "a")
        #expect(!action.dropsPart)
        #expect(machine.answered(Self.whole, at: Self.now).dropsPart)
    }

    @Test func aDoublyRefusedRangeIsAskedAgain() throws {
        var machine = try Self.machine(retries: 1, part: (try Self.part(), 4))
        _ = machine.begin()
        _ = machine.answered(Self.head(500), at: Self.now)
        _ = machine.answered(Self.head(500), at: Self.now)
        #expect(Self.words(machine.waited()) == "a; Range: bytes=4-; If-Range: \"x\"")
    }

    @Test func aCompletePinnedPartNeedsNoRequest() throws {
        var machine = try Self.machine(pinned: true, part: (try Self.part(pinned: true), 10))
        #expect(Self.words(machine.begin()) == "check")
        let action = machine.checked(size: 10, digests: [try #require(Self.right)])
        #expect(Self.words(action) == "accept digest")
        #expect(machine.requests == 0)
    }

    @Test func aCompleteUnpinnedPartIsConfirmedFirst() throws {
        var machine = try Self.machine(part: (try Self.part(), 10))
        #expect(Self.words(machine.begin()) == "a; If-None-Match: \"x\"")
        #expect(Self.words(machine.answered(Self.head(304), at: Self.now)) == "check")
        let action = machine.checked(size: 10, digests: [try #require(Self.right)])
        #expect(Self.words(action) == "accept size")
    }

    @Test func anInterruptedUpdateSendsBothVersions() throws {
        let tag = try #require(EntityTag("\"old\""))
        let part = try Self.part()
        let local = LocalVersion(
            provenance: part.provenances[0],
            validators: Validators(entityTag: tag, strong: .entityTag(tag)), size: 3,
            sha256: try #require(Self.right))
        var machine = try Self.machine(local: local, part: (part, 4))
        #expect(
            Self.words(machine.begin())
                == "a; Range: bytes=4-; If-Range: \"x\"; If-None-Match: \"old\"")
        let action = machine.answered(Self.head(304, ("ETag", "\"old\"")), at: Self.now)
        #expect(Self.words(action) == "confirm")
        #expect(action.dropsPart)
    }

    @Test func anUnbelievable304AsksOnceWithoutACondition() throws {
        let tag = try #require(EntityTag("\"old\""))
        let local = LocalVersion(
            provenance: try Self.part().provenances[0],
            validators: Validators(entityTag: tag, strong: .entityTag(tag)), size: 3,
            sha256: try #require(Self.right))
        var machine = try Self.machine(local: local)
        #expect(Self.words(machine.begin()) == "a; If-None-Match: \"old\"")
        let other = Self.head(304, ("ETag", "\"new\""))
        #expect(Self.words(machine.answered(other, at: Self.now)) == "a")
        #expect(Self.words(machine.answered(other, at: Self.now)) == "fail http-status")
    }

    @Test func anEmptyServerIsRetriedWithGrowingWaits() throws {
        var machine = try Self.machine()
        _ = machine.begin()
        var waits: [String] = []
        for _ in 0..<5 {
            waits.append(Self.words(machine.interrupted(Self.lost, length: nil)))
            _ = machine.waited()
        }
        #expect(
            waits == [
                "wait 500", "wait 1000", "wait 2000", "wait 4000",
                "fail connection-lost retryable",
            ])
    }

    @Test func aBreakingLineIsOnlySlow() throws {
        var machine = try Self.machine(retries: 1)
        _ = machine.begin()
        let head = Self.head(200, ("Content-Length", "900000"), ("ETag", "\"x\""))
        let step = BytesInHand.progressThatResetsRetries
        for length in stride(from: step, through: 20 * step, by: Int(step)) {
            let range = "bytes \(length - step)-899999/900000"
            let rest = Self.head(206, ("Content-Range", range), ("ETag", "\"x\""))
            _ = machine.answered(length == step ? head : rest, at: Self.now)
            // So much came that the connection is made again at once.
            #expect(
                Self.words(machine.interrupted(Self.lost, length: length))
                    == "a; Range: bytes=\(length)-; If-Range: \"x\"")
        }
        // 16 KiB less a byte are not enough, and neither are 16 KiB that were there before.
        #expect(Self.words(machine.interrupted(Self.lost, length: 21 * step - 1)) == "wait 500")
        _ = machine.waited()
        #expect(
            Self.words(machine.interrupted(Self.lost, length: 21 * step))
                == "fail connection-lost retryable")
    }

    @Test func progressResetsTheBackOffToo() throws {
        var machine = try Self.machine(retries: 3)
        _ = machine.begin()
        _ = machine.answered(
            Self.head(200, ("Content-Length", "90000"), ("ETag", "\"x\"")), at: Self.now)
        #expect(Self.words(machine.interrupted(Self.lost, length: 10)) == "wait 500")
        #expect(Self.words(machine.interrupted(Self.lost, length: 10)) == "wait 1000")
        _ = machine.interrupted(Self.lost, length: 20_000)
        #expect(Self.words(machine.interrupted(Self.lost, length: 20_000)) == "wait 500")
    }

    @Test func unresumableBodyIsFetchedAtMostThreeTimes() throws {
        var machine = try Self.machine(retries: 100)
        var (action, received) = (machine.begin(), 0)
        for attempt in 1...10 {
            guard Self.words(action) == "a" else { break }
            _ = machine.answered(Self.head(200, ("Content-Length", "1000000")), at: Self.now)
            received += 800_000 + attempt * 20_000
            action = machine.interrupted(Self.lost, length: Int64(800_000 + attempt * 20_000))
        }
        #expect(Self.words(action) == "fail connection-lost retryable")
        #expect((2_000_000...3_000_000).contains(received))
        guard case .fail(let error) = action.next else { return }
        #expect(error.message.contains("sha256 in the manifest would let it"))
    }

    @Test func resumableBodyHasNoLimitOfTries() throws {
        var machine = try Self.machine(retries: 1)
        _ = machine.begin()
        _ = machine.answered(
            Self.head(200, ("Content-Length", "1000000"), ("ETag", "\"x\"")), at: Self.now)
        for length in stride(from: Int64(20_000), to: 1_000_000, by: 20_000) {
            #expect(
                Self.words(machine.interrupted(Self.lost, length: length)).hasPrefix("a; Range"))
            _ = machine.answered(
                Self.head(
                    206, ("Content-Range", "bytes \(length)-999999/1000000"), ("ETag", "\"x\"")),
                at: Self.now)
        }
    }

    @Test func theNextSourceComesBeforeAnyWait() throws {
        var machine = try Self.machine(["a", "b"], retries: 1)
        _ = machine.begin()
        #expect(Self.words(machine.answered(Self.head(503), at: Self.now)) == "b")
        #expect(Self.words(machine.answered(Self.head(503), at: Self.now)) == "wait 500")
        #expect(Self.words(machine.waited()) == "a")
        #expect(Self.words(machine.answered(Self.head(404), at: Self.now)) == "b")
        #expect(
            Self.words(machine.answered(Self.head(503), at: Self.now))
                == "fail http-status retryable")
    }

    @Test func retryAfterHoldsUpToTheLongestWait() throws {
        var machine = try Self.machine()
        _ = machine.begin()
        let soon = machine.answered(Self.head(429, ("Retry-After", "7")), at: Self.now)
        #expect(Self.words(soon) == "wait 7000")
        #expect(soon.hostHold == 7)
        _ = machine.waited()
        let year = machine.answered(Self.head(503, ("Retry-After", "31536000")), at: Self.now)
        #expect(Self.words(year) == "fail retry-after-too-long retryable")
    }

    @Test func retryAfterNeverShortensTheBackOff() throws {
        var machine = try Self.machine()
        _ = machine.begin()
        var waits: [String] = []
        for _ in 0..<4 {
            waits.append(
                Self.words(machine.answered(Self.head(429, ("Retry-After", "0")), at: Self.now)))
            _ = machine.waited()
        }
        #expect(waits == ["wait 500", "wait 1000", "wait 2000", "wait 4000"])
    }

    @Test func retryAfterOfAMirrorDelaysNobodyElse() throws {
        var machine = try Self.machine(["a", "b"])
        _ = machine.begin()
        machine.know(closedFor: [0, 0])
        #expect(Self.words(machine.answered(Self.head(500), at: Self.now)) == "b")
        let busy = machine.answered(Self.head(503, ("Retry-After", "20")), at: Self.now)
        #expect(Self.words(busy) == "wait 500")
        #expect(busy.hostHold == 20)
        #expect(Self.words(machine.waited()) == "a")
        // Its host is left alone until then.
        machine.know(closedFor: [0, 19_500])
        #expect(Self.words(machine.answered(Self.head(500), at: Self.now)) == "wait 1000")
        machine.know(closedFor: [0, 0])
        #expect(Self.words(machine.answered(Self.head(500), at: Self.now)) == "b")
    }

    @Test func aSilentHostYieldsToTheNextSource() throws {
        var machine = try Self.machine(["a", "b"])
        let refused = TransportFailure(.connectFailed, "refused", isPassing: true, wasSent: false)
        _ = machine.begin()
        machine.know(closedFor: [500, 0])
        #expect(Self.words(machine.unreachable(refused, wait: 500)) == "b")
        machine.know(closedFor: [500, 700])
        // Neither host may be asked now: the first that may is waited for.
        let action = machine.unreachable(refused, wait: 700)
        #expect(Self.words(action) == "a")
        guard case .retry(_, _, 500, nil)? = action.notice else {
            Issue.record("nobody is told of the wait")
            return
        }
        // No retry of the transfer was spent.
        machine.know(closedFor: [0, 0])
        #expect(Self.words(machine.answered(Self.head(503), at: Self.now)) == "b")
        #expect(Self.words(machine.answered(Self.head(503), at: Self.now)) == "wait 500")
    }

    @Test func anAbsentHostIsPassedBy() throws {
        var machine = try Self.machine(["a", "b"])
        _ = machine.begin()
        machine.know(closedFor: [500, 0])
        let next = machine.elsewhere()
        let action = try #require(next)
        #expect(Self.words(action) == "b")
        // The request to a was not made.
        #expect(machine.requests == 1)
    }

    @Test func anUnsentPostIsRetried() throws {
        var machine = try Self.machine(isPost: true)
        _ = machine.begin()
        let unsent = TransportFailure(.connectFailed, "refused", isPassing: true, wasSent: false)
        #expect(Self.words(machine.interrupted(unsent, length: nil)) == "wait 500")
        _ = machine.waited()
        let action = machine.interrupted(Self.lost, length: nil)
        #expect(Self.words(action) == "fail connection-lost retryable")
    }

    @Test func wrongBytesAreFetchedOnceMore() throws {
        var machine = try Self.machine(pinned: true, retries: 0)
        let wrong = try #require(Self.wrong)
        _ = machine.begin()
        _ = machine.answered(Self.whole, at: Self.now)
        _ = machine.bodyEnded(length: 10)
        let again = machine.checked(size: 10, digests: [wrong])
        #expect(Self.words(again) == "a; Cache-Control: no-cache")
        #expect(again.dropsPart)
        _ = machine.answered(Self.whole, at: Self.now)
        _ = machine.bodyEnded(length: 10)
        let end = machine.checked(size: 10, digests: [wrong])
        #expect(Self.words(end) == "fail digest-mismatch")
        guard case .fail(let error) = end.next else { return }
        #expect(error.expected == Self.right?.description)
        #expect(error.actual == wrong.description)
    }

    @Test func wrongBytesLeadToTheOtherSource() throws {
        var machine = try Self.machine(["a", "b"], pinned: true)
        let wrong = try #require(Self.wrong)
        _ = machine.begin()
        _ = machine.answered(Self.whole, at: Self.now)
        _ = machine.bodyEnded(length: 10)
        #expect(Self.words(machine.checked(size: 10, digests: [wrong])) == "b")
        _ = machine.answered(Self.whole, at: Self.now)
        _ = machine.bodyEnded(length: 10)
        #expect(Self.words(machine.checked(size: 10, digests: [wrong])) == "fail digest-mismatch")
    }

    @Test func aPartOfAnotherRunBlamesNobody() throws {
        var machine = try Self.machine(pinned: true, part: (try Self.part(pinned: true), 4))
        let wrong = try #require(Self.wrong)
        #expect(Self.words(machine.begin()) == "a; Range: bytes=4-; If-Range: \"x\"")
        var bodies = 0
        _ = machine.answered(Self.rest, at: Self.now)
        _ = machine.bodyEnded(length: 10)
        var action = machine.checked(size: 10, digests: [wrong])
        while case .request = action.next, bodies < 9 {
            #expect(Self.words(action) == "a; Cache-Control: no-cache")
            bodies += 1
            _ = machine.answered(Self.whole, at: Self.now)
            _ = machine.bodyEnded(length: 10)
            action = machine.checked(size: 10, digests: [wrong])
        }
        #expect(bodies == 2)
        #expect(Self.words(action) == "fail digest-mismatch")
    }

    @Test func headersStayBehindAfterAForeignHop() throws {
        var machine = try Self.machine()
        _ = machine.begin()
        var carried: [Bool] = []
        for location in ["/g", "https://b.example/g", "https://a.example/h"] {
            let action = machine.answered(Self.head(302, ("Location", location)), at: Self.now)
            guard case .request(let plan) = action.next else { break }
            carried.append(plan.carriesCredentials)
        }
        #expect(carried == [true, false, false])
    }

    @Test(arguments: [
        ("http://a.example/f", "fail redirect-refused"),
        ("file:///etc/passwd", "fail redirect-refused"),
        ("ftp://a.example/f", "fail redirect-refused"), ("/g", "a"),
    ])
    func unsafeRedirectsAreRefused(location: String, words: String) throws {
        var machine = try Self.machine()
        _ = machine.begin()
        let action = machine.answered(Self.head(301, ("Location", location)), at: Self.now)
        #expect(Self.words(action) == words)
    }

    @Test func theEleventhRedirectIsTheEnd() throws {
        var machine = try Self.machine()
        var action = machine.begin()
        for _ in 0...10 {
            action = machine.answered(Self.head(302, ("Location", "/f")), at: Self.now)
        }
        #expect(Self.words(action) == "fail too-many-redirects")
        #expect(machine.requests == 11)
    }

    @Test func aPostCrossesNoOrigin() throws {
        var machine = try Self.machine(isPost: true)
        _ = machine.begin()
        let other = Self.head(307, ("Location", "https://b.example/f"))
        #expect(Self.words(machine.answered(other, at: Self.now)) == "fail redirect-refused")
    }

    @Test func aBodyWithoutLengthIsMarkedCut() throws {
        var machine = try Self.machine()
        _ = machine.begin()
        _ = machine.answered(Self.head(200), at: Self.now)
        _ = machine.bodyEnded(length: 10)
        let action = machine.checked(size: 10, digests: [try #require(Self.right)])
        #expect(Self.words(action) == "accept none")
    }

    @Test func aServersDigestIsChecked() throws {
        var machine = try Self.machine(retries: 0)
        _ = machine.begin()
        let sent = Self.head(
            200, ("Content-Length", "10"),
            ("Repr-Digest", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"))
        _ = machine.answered(sent, at: Self.now)
        _ = machine.bodyEnded(length: 10)
        let action = machine.checked(size: 10, digests: [try #require(Self.right)])
        #expect(Self.words(action) == "a; Cache-Control: no-cache")
    }
}
