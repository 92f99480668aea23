import MirrorModel
import Testing

/// Which protocol bodies are asked for over.
@Suite struct LongBodyTests {
    typealias Course = TransferCourseTests

    private static let long: Int64 = 8 << 20
    private static let refused = TransportFailure(
        .tlsFailed, "no application protocol", isPassing: false, wasSent: false,
        mayBeProtocol: true)

    private func course(
        _ size: Int64?, _ urls: [String] = ["https://a.example/f"], isPost: Bool = false,
        local: LocalVersion? = nil, part: (record: PartRecord, length: Int64)? = nil
    ) throws -> TransferCourse {
        var expectation = Expectation()
        expectation.size = size
        return TransferCourse(
            target: try Target("Caches/f"),
            sources: try urls.map { url in
                let url = try SourceURL(url)
                return CourseSource(url: url, key: SourceKey(text: url.withoutSecrets))
            }, isPost: isPost, expectation: expectation, local: local, part: part,
            jitter: { $0 })
    }

    /// Whether a turn asks for a long body; nil when it asks for nothing.
    private func isLong(_ turn: Turn) -> Bool? {
        guard case .request(let plan) = turn.next else { return nil }
        return plan.isLong
    }

    @Test func itTakesEightMebibytesKnownBeforehandOverTLS() throws {
        func first(_ size: Int64?, _ url: String = "https://a.example/f") throws -> Bool? {
            var course = try course(size, [url])
            return isLong(course.begin())
        }
        #expect(try first(Self.long) == true)
        #expect(try first(Self.long - 1) == false)
        #expect(try first(nil) == false)
        #expect(try first(Self.long, "http://a.example/f") == false)
        #expect(try first(Self.long, "file:///f") == false)
    }

    @Test func onlyMissingBytesCount() throws {
        var record = try Course.part()
        record.total = Self.long + 4
        var rest = try course(nil, part: (record, 4))
        #expect(isLong(rest.begin()) == true)
        var less = try course(nil, part: (record, 5))
        #expect(isLong(less.begin()) == false)
    }

    @Test func aQuestionThatConfirmsAndAPostAreNotLong() throws {
        var post = try course(Self.long, isPost: true)
        #expect(isLong(post.begin()) == false)
        let part = try Course.part()
        var local = LocalVersion(
            provenance: part.provenances.first, validators: part.validators, size: Self.long,
            sha256: try #require(Course.right))
        var asking = try course(Self.long, local: local)
        #expect(isLong(asking.begin()) == false)
        local.provenance = nil
        var fetching = try course(Self.long, local: local)
        #expect(isLong(fetching.begin()) == true)
    }

    @Test func aSourceThatDoesNotSpeakItIsAskedOnceMoreAtOnce() throws {
        for status in [421, 426, 464, 505] {
            var course = try course(Self.long)
            _ = course.begin()
            #expect(isLong(course.answered(Course.head(status), at: Course.now)) == false)
            #expect(isLong(course.answered(Course.head(status), at: Course.now)) == nil)
        }
        let strange = TransportFailure(
            .malformedResponse, "HTTP/0.9", isPassing: false, wasSent: true)
        for failure in [Self.refused, Course.lost, strange] {
            var course = try course(Self.long)
            _ = course.begin()
            let turn = course.interrupted(failure, length: nil)
            #expect(isLong(turn) == false)
            #expect(turn.leavesProtocol)
            #expect(turn.notice == nil)
            #expect(isLong(course.interrupted(failure, length: nil)) == nil)
            #expect(course.requests == 2)
        }
    }

    @Test func otherFailuresChangeNothing() throws {
        let untrusted = TransportFailure(
            .tlsFailed, "certificate", isPassing: false, wasSent: false)
        var course = try course(Self.long)
        _ = course.begin()
        #expect(Course.words(course.interrupted(untrusted, length: nil)) == "fail tls-failed")

        let unreachable = TransportFailure(
            .connectFailed, "refused", isPassing: true, wasSent: false)
        var waiting = try self.course(Self.long)
        _ = waiting.begin()
        #expect(Course.words(waiting.interrupted(unreachable, length: nil)) == "wait 500")
        #expect(isLong(waiting.waited()) == true)
    }

    @Test func aLossAmidTheBodyKeepsTheProtocol() throws {
        let total = ("Content-Length", String(Self.long + 4))
        var course = try course(Self.long + 4)
        _ = course.begin()
        _ = course.answered(Course.head(200, total, ("ETag", "\"x\"")), at: Course.now)
        #expect(Course.words(course.interrupted(Course.lost, length: 4)) == "wait 500")
        #expect(isLong(course.waited()) == true)
    }

    @Test func aSourceThatIsKnownToChooseIsLetChoose() throws {
        var course = try course(Self.long)
        course.leaveProtocol(to: 0)
        #expect(isLong(course.begin()) == false)
        #expect(Course.words(course.interrupted(Course.lost, length: nil)) == "wait 500")
    }

    @Test func whatOneSourceSpeaksSaysNothingOfAnother() throws {
        var course = try course(Self.long, ["https://a.example/f", "https://b.example/f"])
        _ = course.begin()
        #expect(isLong(course.interrupted(Self.refused, length: nil)) == false)
        #expect(isLong(course.interrupted(Self.refused, length: nil)) == true)
    }

    @Test func furtherConnectionsOfALongBodyAreAskedForTheSameWay() throws {
        let total = ("Content-Length", String(Self.long))
        var course = try course(Self.long)
        _ = course.begin()
        _ = course.answered(Course.head(200, total, ("ETag", "\"x\"")), at: Course.now)
        #expect(course.segment(of: 4..<8, from: 0)?.plan.isLong == true)

        var choosing = try self.course(Self.long)
        _ = choosing.begin()
        _ = choosing.interrupted(Self.refused, length: nil)
        _ = choosing.answered(Course.head(200, total, ("ETag", "\"x\"")), at: Course.now)
        #expect(choosing.segment(of: 4..<8, from: 0)?.plan.isLong == false)
    }
}
