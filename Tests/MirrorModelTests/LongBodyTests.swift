@testable import MirrorKit
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

    /// Whether an action asks over HTTP/1.1; nil when it asks for nothing.
    private func usesHTTP1(_ action: TransferAction) -> Bool? {
        guard case .request(let plan) = action.next else { return nil }
        return plan.usesHTTP1
    }

    @Test func bodiesAreLongFromEightMebibytes() throws {
        func first(_ size: Int64?, _ url: String = "https://a.example/f") throws -> Bool? {
            var machine = try machine(size, [url])
            return usesHTTP1(machine.begin())
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
        #expect(usesHTTP1(rest.begin()) == true)
        var less = try machine(nil, part: (record, 5))
        #expect(usesHTTP1(less.begin()) == false)
    }

    @Test func aQuestionThatConfirmsIsNotLong() throws {
        let part = try Machine.part()
        func local(_ provenance: Provenance?) throws -> LocalVersion {
            LocalVersion(
                provenance: provenance, validators: part.validators, size: Self.long,
                sha256: try #require(Machine.right))
        }
        var asking = try machine(Self.long, local: local(part.provenances.first))
        #expect(usesHTTP1(asking.begin()) == false)
        var fetching = try machine(Self.long, local: local(nil))
        #expect(usesHTTP1(fetching.begin()) == true)
    }

    @Test func aSourceWithoutItIsAskedAgain() throws {
        for status in [421, 426, 464, 505] {
            var machine = try machine(Self.long)
            _ = machine.begin()
            #expect(usesHTTP1(machine.answered(Machine.head(status), at: Machine.now)) == false)
            // 421 may be the fault of a connection that others use.
            let second = machine.answered(Machine.head(status), at: Machine.now)
            #expect(usesHTTP1(second) == (status == 421 ? false : nil))
            guard status == 421 else { continue }
            #expect(try plan(second).isAlone)
            #expect(usesHTTP1(machine.answered(Machine.head(status), at: Machine.now)) == nil)
        }
        let strange = TransportFailure(
            .malformedResponse, "HTTP/0.9", isPassing: false, wasSent: true)
        for failure in [Self.refused, Machine.lost, strange] {
            var machine = try machine(Self.long)
            _ = machine.begin()
            let action = machine.interrupted(failure, length: nil)
            #expect(usesHTTP1(action) == false)
            #expect(action.protocols == HostProtocols(refusesHTTP1: true))
            #expect(action.notice == nil)
            #expect(usesHTTP1(machine.interrupted(failure, length: nil)) == nil)
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
        #expect(usesHTTP1(waiting.waited()) == true)
    }

    @Test func aLossAmidTheBodyKeepsTheProtocol() throws {
        let total = ("Content-Length", String(Self.long + 4))
        var machine = try machine(Self.long + 4)
        _ = machine.begin()
        _ = machine.answered(Machine.head(200, total, ("ETag", "\"x\"")), at: Machine.now)
        #expect(Machine.words(machine.interrupted(Machine.lost, length: 4)) == "wait 500")
        #expect(usesHTTP1(machine.waited()) == true)
    }

    @Test func aSourceThatChoosesMayChoose() throws {
        var machine = try machine(Self.long)
        machine.know(HostProtocols(refusesHTTP1: true), of: 0)
        #expect(usesHTTP1(machine.begin()) == false)
        #expect(Machine.words(machine.interrupted(Machine.lost, length: nil)) == "wait 500")
    }

    @Test func whatOneSourceSpeaksSaysNothingOfAnother() throws {
        var machine = try machine(Self.long, ["https://a.example/f", "https://b.example/f"])
        _ = machine.begin()
        #expect(usesHTTP1(machine.interrupted(Self.refused, length: nil)) == false)
        #expect(usesHTTP1(machine.interrupted(Self.refused, length: nil)) == true)
    }

    @Test func furtherConnectionsUseTheSameProtocol() throws {
        let total = ("Content-Length", String(Self.long))
        var machine = try machine(Self.long)
        _ = machine.begin()
        _ = machine.answered(Machine.head(200, total, ("ETag", "\"x\"")), at: Machine.now)
        #expect(machine.segment(of: 4..<8, from: 0)?.plan.usesHTTP1 == true)

        var choosing = try self.machine(Self.long)
        _ = choosing.begin()
        _ = choosing.interrupted(Self.refused, length: nil)
        _ = choosing.answered(Machine.head(200, total, ("ETag", "\"x\"")), at: Machine.now)
        #expect(choosing.segment(of: 4..<8, from: 0)?.plan.usesHTTP1 == false)
    }

    /// The end of an answer without a length proves nothing over HTTP/2, and a POST is not repeated.
    @Test func http1PostsAreNotRepeated() throws {
        for status in [421, 505] {
            var post = try machine(4, isPost: true)
            #expect(usesHTTP1(post.begin()) == true)
            #expect(usesHTTP1(post.answered(Machine.head(status), at: Machine.now)) == nil)
        }
        var sent = try machine(4, isPost: true)
        _ = sent.begin()
        #expect(usesHTTP1(sent.interrupted(Machine.lost, length: nil)) == nil)
        var refused = try machine(4, isPost: true)
        _ = refused.begin()
        #expect(usesHTTP1(refused.interrupted(Self.refused, length: nil)) == false)
    }
}

// MARK: Connections that must not be shared

extension LongBodyTests {
    private func plan(_ action: TransferAction) throws -> RequestPlan {
        guard case .request(let plan) = action.next else { throw StrayAction() }
        return plan
    }

    private struct StrayAction: Error {}

    @Test func misplacedRequestsUseHTTP1() throws {
        for wasSent in [false, true] {
            var machine = try machine(4)
            _ = machine.begin()
            let action = machine.interrupted(.misplaced(wasSent: wasSent), length: nil)
            #expect(try plan(action).usesHTTP1)
            #expect(try !plan(action).isAlone)
            #expect(action.protocols == HostProtocols(forbidsSharing: true))
            #expect(action.notice == nil)
        }
    }

    @Test func whatCameBeforeAMisplacedRequestIsKept() throws {
        var machine = try machine(4)
        _ = machine.begin()
        _ = machine.answered(
            Machine.head(200, ("Content-Length", "4"), ("ETag", "\"x\"")), at: Machine.now)
        let action = machine.interrupted(.misplaced(wasSent: true), length: 2)
        #expect(try plan(action).offset == 2)
        #expect(!action.dropsPart)
    }

    @Test func withoutHTTP1ConnectionsAreSeparate() throws {
        var machine = try machine(4)
        _ = machine.begin()
        _ = machine.interrupted(.misplaced(wasSent: false), length: nil)
        let action = machine.interrupted(Self.refused, length: nil)
        #expect(try !plan(action).usesHTTP1)
        #expect(try plan(action).isAlone)
        // It cannot happen again, and is a failure like others where it does.
        #expect(
            Machine.words(machine.interrupted(.misplaced(wasSent: false), length: nil))
                == "wait 500")
    }

    /// Other transfers may find it between the decision and the request.
    @Test func knownHostsUseHTTP1() throws {
        var machine = try machine(4)
        #expect(try !plan(machine.begin()).usesHTTP1)
        #expect(!machine.adapted(to: HostProtocols()).usesHTTP1)
        #expect(machine.adapted(to: HostProtocols(forbidsSharing: true)).usesHTTP1)
    }

    @Test func aSentPostIsNotMadeAgain() throws {
        var post = try machine(4, isPost: true)
        _ = post.begin()
        let action = post.interrupted(.misplaced(wasSent: true), length: nil)
        #expect(Machine.words(action) == "fail connection-lost retryable")
    }

    @Test func unknownLengthNeedsHTTP1() throws {
        func second(_ fields: (String, String)..., size: Int64? = nil) throws -> TransferAction {
            var machine = try machine(size)
            _ = machine.begin()
            let head = ResponseHead(status: 200, version: .http2, fields)
            return machine.answered(head, at: Machine.now)
        }
        #expect(try plan(second()).usesHTTP1)
        #expect(try second().protocols == HostProtocols(forbidsSharing: true))
        #expect(Machine.words(try second(("Content-Length", "4"))) == "receive 0")
        #expect(Machine.words(try second(size: 4)).hasPrefix("receive"))
        let digest = ("Repr-Digest", "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:")
        #expect(Machine.words(try second(digest)).hasPrefix("receive"))
    }

    @Test func unknownLengthRefusesHTTP2Alone() throws {
        var machine = try machine(nil)
        machine.know(HostProtocols(refusesHTTP1: true), of: 0)
        _ = machine.begin()
        let head = ResponseHead(status: 200, version: .http2)
        #expect(try plan(machine.answered(head, at: Machine.now)).isAlone)
        #expect(Machine.words(machine.answered(head, at: Machine.now)) == "fail unverifiable")
    }
}
