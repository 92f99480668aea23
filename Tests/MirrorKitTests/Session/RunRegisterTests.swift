import Glibc
import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit
@testable import MirrorSystem
@testable import MirrorModel

@Suite(.timeLimit(.minutes(15))) struct RunRegisterTests {
    private let progress = TransferEvent.progress(bytes: 1, size: nil, bytesPerSecond: 1)

    private func failure() -> TransferEvent {
        .ended(.failed(MirrorError(.httpStatus, "gone"), TransferCost()))
    }

    private func job(_ id: Int, isDecisive: Bool = false) throws -> TransferJob {
        try .fetching("http://a/b", id: id, isDecisive: isDecisive)
    }

    /// A body in memory of so many bytes.
    private func body(_ count: Int) throws -> TransferEvent {
        let key = SourceKey(try SourceURL("http://a/b"))
        return .ended(
            .received(
                ReceivedBody(
                    content: .memory(Array(repeating: 1, count: count)), size: Int64(count),
                    sha256: ByteHasher.digest(.sha256, of: []), otherDigest: nil, verified: .none,
                    answer: Answer(
                        provenance: Provenance(source: key, answeredBy: "http://a/b"),
                        validators: Validators(), source: "http://a/b"), cost: TransferCost())))
    }

    @Test func registerDeliversMessagesInOrder() throws {
        let (register, told) = (RunRegister(), Box<[Int]>([]))
        let reader = try RigReader(register) { job, _ in told.value.withLock { $0.append(job) } }
        for number in 0..<5000 { register.tell(try job(number), progress) }
        reader.stop()
        #expect(told.value.withLock { $0 } == Array(0..<5000))
    }

    @Test func eachRunHearsOfItsOwnTransfers() throws {
        let register = RunRegister()
        let mailboxes = [try Mailbox<RunMessage>(), try Mailbox<RunMessage>()]
        let runs = mailboxes.map(register.add)
        for (run, position) in [(0, 5), (1, 6), (1, 7)] {
            register.tell(try job(RunRegister.job(of: runs[run], position: position)), progress)
        }
        let heard = mailboxes.map { mailbox in
            mailbox.take(waitingAtMost: 0).map { message in
                if case .input(.transfer(let position, _)) = message { position } else { -1 }
            }
        }
        #expect(heard == [[5], [6, 7]])
    }

    @Test func aMessageAfterQuietIsDeliveredAtOnce() throws {
        let (register, told) = (RunRegister(), Semaphore())
        let reader = try RigReader(register) { _, _ in told.post() }
        for _ in 0..<3 {
            register.tell(try job(1), progress)
            #expect(told.wait(seconds: 20))
            // It sleeps without end by now.
            Pause.milliseconds(20)
        }
        reader.stop()
    }

    @Test func onlyFailuresAreSettledWithinTheLoop() throws {
        let (register, gate, told) = (RunRegister(), Semaphore(), Box<[Int]>([]))
        let reader = try RigReader(register) { job, _ in
            if job == 1 { gate.wait() }
            if job == 2 { Pause.milliseconds(100) }
            told.value.withLock { $0.append(job) }
        }
        register.tell(try job(1), progress)
        // The thread is still busy with the first.
        register.tell(try job(3), failure())
        #expect(!register.settleFailures())
        #expect(told.value.withLock { $0 } == [])
        gate.post()
        register.tell(try job(2, isDecisive: true), failure())
        #expect(register.settleFailures())
        #expect(told.value.withLock { $0 } == [1, 3, 2])
        reader.stop()
    }

    @Test func bytesCountUntilTheyWereTaken() throws {
        let (register, gate) = (RunRegister(), Semaphore())
        let reader = try RigReader(register) { _, _ in gate.wait() }
        register.tell(try job(1), try body(1000))
        register.tell(try job(2), try body(24))
        register.tell(try job(3, isDecisive: true), failure())
        #expect(register.bytesWaiting == 1024)
        for _ in 0..<3 { gate.post() }
        #expect(register.settleFailures())
        #expect(register.bytesWaiting == 0)
        reader.stop()
    }

    @Test func aClosedMailboxIsNotWaitedFor() throws {
        let (register, mailbox) = (RunRegister(), try Mailbox<RunMessage>())
        let run = register.add(mailbox)
        register.tell(
            try job(RunRegister.job(of: run, position: 0), isDecisive: true), failure())
        #expect(mailbox.close().count == 1)
        #expect(register.settleFailures())
        register.tell(try job(RunRegister.job(of: run, position: 1)), try body(10))
        #expect(register.bytesWaiting == 0)
    }

    /// Otherwise a receiver that is slower than the network would fill the memory.
    @Test func aSlowReceiverHoldsTheNetworkBack() async throws {
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
        } hears: { _, _, event in
            guard case .ended = event else { return }
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
