import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Synchronization
import Testing

/// Clients that follow a run, as fast as they like.
@Suite(.timeLimit(.minutes(15))) struct FollowerTests {
    /// More than may wait for a client, which is 4 MiB.
    private static let count = 6_000
    private static let folder = Array(repeating: String(repeating: "x", count: 200), count: 4)
        .joined(separator: "/")

    /// What waits for a follower was once copied for each event, so that a run did not end.
    @Test func followersThatDoNotReadDelayNothing() async throws {
        let folder = try Folder.temporary()
        defer { folder.remove() }
        let job = JobDescription(
            process: getpid(), verb: "sync", root: folder.path, isRunning: true, since: .now)
        let address = try #require(ControlAddress.make(forRoot: folder.path, in: folder.path))
        let server = try #require(
            ControlServer(at: address) { $0.verb == .follow ? .job(job) : .refused("no") })
        let clients = (0..<4).compactMap { _ in ControlClient.connect(to: address).client }
        // A machine with much else to do may take its time.
        for client in clients {
            #expect(client.ask(ControlRequest(.follow), waitingSeconds: 600) == .job(job))
        }
        let reader = try #require(clients.first)
        let numbers = Mutex<[Int]>([])
        let reading = Task {
            for await line in reader.lines() {
                guard let event = Event(line: line),
                    case .progress(let progress) = event.body
                else { continue }
                numbers.withLock { $0.append(Int(progress.bytes)) }
            }
        }
        for number in 0..<FollowerTests.count {
            server.tell(try event(number))
            // The reader is slower than this loop, and would lag too far behind.
            while number - numbers.withLock(\.count) > 1000 {
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        while numbers.withLock(\.count) < FollowerTests.count {
            try await Task.sleep(for: .milliseconds(1))
        }
        server.stop()
        await reading.value
        #expect(numbers.withLock { $0 } == Array(0..<FollowerTests.count))
        withExtendedLifetime(clients) {}
    }

    private func event(_ number: Int) throws -> Event {
        let target = try Target("Caches/\(Self.folder)/\(number).png")
        return Event(
            run: "run", time: .now,
            body: .progress(
                Event.Progress(
                    target: target, bytes: Int64(number), size: nil, rate: 0, stage: .receiving)))
    }
}
