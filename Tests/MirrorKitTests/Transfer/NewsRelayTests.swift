import Glibc
import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit
@testable import MirrorModel

@Suite(.timeLimit(.minutes(15))) struct NewsRelayTests {
    private let progress = TransferNews.progress(bytes: 1, size: nil, bytesPerSecond: 1)

    private func failure() -> TransferNews {
        .ended(.failed(MirrorError(.httpStatus, "gone"), TransferCost()))
    }

    private func job(_ id: Int, isDecisive: Bool = false) throws -> TransferJob {
        try .fetching("http://a/b", id: id, isDecisive: isDecisive)
    }

    /// A body in memory of so many bytes.
    private func body(_ count: Int) throws -> TransferNews {
        let key = SourceKey(try SourceURL("http://a/b"))
        return .ended(
            .received(
                ReceivedBody(
                    content: .memory(Array(repeating: 1, count: count)), size: Int64(count),
                    sha256: ByteHasher.digest(.sha256, of: []), verified: .none,
                    answer: Confirmation(
                        provenance: Provenance(source: key, answeredBy: "http://a/b"),
                        validators: Validators(), source: "http://a/b"),
                    cost: TransferCost())))
    }

    @Test func everythingIsToldInOrderAndBeforeTheThreadEnds() throws {
        let told = Box<[Int]>([])
        var hooks = TransferLoop.Hooks { job, _ in told.value.withLock { $0.append(job) } }
        hooks.onIdle = { told.value.withLock { $0.append(-1) } }
        let relay = try NewsRelay(hooks)
        for number in 0..<5000 {
            relay.tell(try job(number), progress)
            if number % 1000 == 999 { relay.tellIdle() }
        }
        relay.stop()
        let expected = (0..<5000).flatMap { $0 % 1000 == 999 ? [$0, -1] : [$0] }
        #expect(told.value.withLock { $0 } == expected)
    }

    @Test func newsAfterAQuietTimeAreToldAtOnce() throws {
        let told = Semaphore()
        let relay = try NewsRelay(TransferLoop.Hooks { _, _ in told.post() })
        for _ in 0..<3 {
            relay.tell(try job(1), progress)
            #expect(told.wait(seconds: 20))
            // It sleeps without end by now.
            Pause.milliseconds(20)
        }
        relay.stop()
    }

    @Test func aFailureIsWaitedForAndNothingElse() throws {
        let (gate, told) = (Semaphore(), Box<[Int]>([]))
        let relay = try NewsRelay(
            TransferLoop.Hooks { job, _ in
                if job == 1 { gate.wait() }
                if job == 2 { Pause.milliseconds(100) }
                told.value.withLock { $0.append(job) }
            })
        relay.tell(try job(1), progress)
        // The receiver is still busy with the first.
        relay.tell(try job(3), failure())
        #expect(!relay.settleFailures())
        #expect(told.value.withLock { $0 } == [])
        gate.post()
        relay.tell(try job(2, isDecisive: true), failure())
        #expect(relay.settleFailures())
        #expect(told.value.withLock { $0 } == [1, 3, 2])
        relay.stop()
    }

    @Test func bytesCountUntilTheyWereTold() throws {
        let gate = Semaphore()
        let relay = try NewsRelay(TransferLoop.Hooks { _, _ in gate.wait() })
        relay.tell(try job(1), try body(1000))
        relay.tell(try job(2), try body(24))
        relay.tell(try job(3, isDecisive: true), failure())
        #expect(relay.bytesWaiting == 1024)
        for _ in 0..<3 { gate.post() }
        #expect(relay.settleFailures())
        #expect(relay.bytesWaiting == 0)
        relay.stop()
    }

    /// Otherwise a receiver that is slower than the network would fill the memory.
    @Test func aReceiverThatDoesNotKeepUpHoldsTheNetworkBack() async throws {
        let size = 60_000
        let origin = ClosureOrigin { _, _, connection in
            connection.answer(
                "HTTP/1.1 200 OK\nContent-Length: \(size)", [UInt8](repeating: 7, count: size))
        }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let (gate, isFirst) = (Semaphore(), Box(true))
        let rig = try TransferRig {
            $0.jobs = 4
        } hears: { _, _, news in
            guard case .ended = news else { return }
            let waits = isFirst.value.withLock { first in
                defer { first = false }
                return first
            }
            if waits { gate.wait() }
        }
        rig.loop.submit(
            try (1...400).map {
                try .fetching(server.url + "/\($0)", id: $0, target: "Caches/\($0)")
            })
        // All 400 would be 24 MB; it stays at 4 MiB and what was under way.
        let most = (4 << 20) / size + 16
        while origin.requests.count < 50 { try await Task.sleep(for: .milliseconds(10)) }
        // Time enough for many more.
        try await Task.sleep(for: .milliseconds(500))
        #expect(origin.requests.count <= most)
        gate.post()
        #expect(await rig.ends(400).count == 400)
    }
}
