import MirrorModel
import Testing

/// Which protocol bodies are asked for over.
@Suite struct LongBodyTests {
    typealias Machine = TransferMachineTests

    private static let long: Int64 = 8 << 20
    private static let refused = TransportFailure(
        .tlsFailed, "no application protocol", isPassing: false, wasSent: false,
        mayBeProtocol: true)

    private func machine(
        _ size: Int64?, _ urls: [String] = ["https://a.example/f"], isPost: Bool = false,
        local: LocalVersion? = nil, part: (record: PartRecord, length: Int64)? = nil
    ) throws -> TransferMachine {
        let expectation = Expectation(size: size)
        return TransferMachine(
            target: try Target("Caches/f"),
            sources: try urls.map { url in
                let url = try SourceURL(url)
                return CandidateSource(url: url, key: SourceKey(text: url.withoutSecrets))
            }, isPost: isPost, expectation: expectation, local: local, part: part,
            jitter: { $0 })
    }

    /// Whether an action asks for a long body; nil when it asks for nothing.
    private func isLong(_ action: TransferAction) -> Bool? {
        guard case .request(let plan) = action.next else { return nil }
        return plan.isLong
    }

    @Test func bodyIsLongFromEightMebibytesKnownBeforehandOverTLS() throws {
        func first(_ size: Int64?, _ url: String = "https://a.example/f") throws -> Bool? {
            var machine = try machine(size, [url])
            return isLong(machine.begin())
        }
        #expect(try first(Self.long) == true)
        #expect(try first(Self.long - 1) == false)
        #expect(try first(nil) == false)
        #expect(try first(Self.long, "http://a.example/f") == false)
        #expect(try first(Self.long, "file:///f") == false)
    }

    @Test func onlyMissingBytesCount() throws {
        var record = try Machine.part()
        record.total = Self.long + 4
        var rest = try machine(nil, part: (record, 4))
        #expect(isLong(rest.begin()) == true)
        var less = try machine(nil, part: (record, 5))
        #expect(isLong(less.begin()) == false)
    }

    @Test func aQuestionThatConfirmsAndAPostAreNotLong() throws {
        var post = try machine(Self.long, isPost: true)
        #expect(isLong(post.begin()) == false)
        let part = try Machine.part()
        func local(_ provenance: Provenance?) throws -> LocalVersion {
            LocalVersion(
                provenance: provenance, validators: part.validators, size: Self.long,
                sha256: try #require(Machine.right))
        }
        var asking = try machine(Self.long, local: local(part.provenances.first))
        #expect(isLong(asking.begin()) == false)
        var fetching = try machine(Self.long, local: local(nil))
        #expect(isLong(fetching.begin()) == true)
    }

    @Test func aSourceThatDoesNotSpeakItIsAskedOnceMoreAtOnce() throws {
        for status in [421, 426, 464, 505] {
            var machine = try machine(Self.long)
            _ = machine.begin()
            #expect(isLong(machine.answered(Machine.head(status), at: Machine.now)) == false)
            #expect(isLong(machine.answered(Machine.head(status), at: Machine.now)) == nil)
        }
        let strange = TransportFailure(
            .malformedResponse, "HTTP/0.9", isPassing: false, wasSent: true)
        for failure in [Self.refused, Machine.lost, strange] {
            var machine = try machine(Self.long)
            _ = machine.begin()
            let action = machine.interrupted(failure, length: nil)
            #expect(isLong(action) == false)
            #expect(action.leavesProtocol)
            #expect(action.notice == nil)
            #expect(isLong(machine.interrupted(failure, length: nil)) == nil)
            #expect(machine.requests == 2)
        }
    }

    @Test func otherFailuresKeepTheProtocol() throws {
        let untrusted = TransportFailure(
            .tlsFailed, "certificate", isPassing: false, wasSent: false)
        var machine = try machine(Self.long)
        _ = machine.begin()
        #expect(Machine.words(machine.interrupted(untrusted, length: nil)) == "fail tls-failed")

        let unreachable = TransportFailure(
            .connectFailed, "refused", isPassing: true, wasSent: false)
        var waiting = try self.machine(Self.long)
        _ = waiting.begin()
        #expect(Machine.words(waiting.interrupted(unreachable, length: nil)) == "wait 500")
        #expect(isLong(waiting.waited()) == true)
    }

    @Test func aLossAmidTheBodyKeepsTheProtocol() throws {
        let total = ("Content-Length", String(Self.long + 4))
        var machine = try machine(Self.long + 4)
        _ = machine.begin()
        _ = machine.answered(Machine.head(200, total, ("ETag", "\"x\"")), at: Machine.now)
        #expect(Machine.words(machine.interrupted(Machine.lost, length: 4)) == "wait 500")
        #expect(isLong(machine.waited()) == true)
    }

    @Test func aSourceThatIsKnownToChooseIsLetChoose() throws {
        var machine = try machine(Self.long)
        machine.leaveProtocol(to: 0)
        #expect(isLong(machine.begin()) == false)
        #expect(Machine.words(machine.interrupted(Machine.lost, length: nil)) == "wait 500")
    }

    @Test func whatOneSourceSpeaksSaysNothingOfAnother() throws {
        var machine = try machine(Self.long, ["https://a.example/f", "https://b.example/f"])
        _ = machine.begin()
        #expect(isLong(machine.interrupted(Self.refused, length: nil)) == false)
        #expect(isLong(machine.interrupted(Self.refused, length: nil)) == true)
    }

    @Test func furtherConnectionsOfALongBodyAreAskedForTheSameWay() throws {
        let total = ("Content-Length", String(Self.long))
        var machine = try machine(Self.long)
        _ = machine.begin()
        _ = machine.answered(Machine.head(200, total, ("ETag", "\"x\"")), at: Machine.now)
        #expect(machine.segment(of: 4..<8, from: 0)?.plan.isLong == true)

        var choosing = try self.machine(Self.long)
        _ = choosing.begin()
        _ = choosing.interrupted(Self.refused, length: nil)
        _ = choosing.answered(Machine.head(200, total, ("ETag", "\"x\"")), at: Machine.now)
        #expect(choosing.segment(of: 4..<8, from: 0)?.plan.isLong == false)
    }
}
