import Testing

@testable import MirrorKit

/// Events on their way to their reader.
@Suite(.timeLimit(.minutes(15))) struct EventQueueTests {
    private static let plan = Plan(
        root: "/r", manifests: [], steps: [], now: Instant(seconds: 0), orphansLeft: 0)

    private func event(_ number: Int) -> Event {
        .failure(MirrorError(.usage, "event \(number)"), root: "/r")
    }

    private func messages(_ run: Run) async throws -> [String] {
        var messages: [String] = []
        for try await event in run {
            if case .summary(let summary) = event.body {
                messages.append(summary.error?.message ?? "")
            }
        }
        return messages
    }

    /// The first one goes on.
    @Test func aSecondReaderGetsAnError() async throws {
        let queue = EventQueue()
        let first = Task { try await queue.wait() }
        while !queue.isAwaited { await Task.yield() }
        let error = await #expect(throws: MirrorError.self) { try await queue.wait() }
        #expect(error?.code == .usage)
        queue.send(event(1))
        try await first.value
        #expect(try queue.take().count == 1)
    }

    @Test func eventsComeInOrderBeforeTheError() async throws {
        let control = RunControl(EventQueueTests.plan)
        for number in 0..<5 { control.send(event(number)) }
        control.finish(throwing: MirrorError(.noSpace, "full"))
        control.send(event(5))
        var events = Run(control).makeAsyncIterator()
        for number in 0..<5 {
            guard case .summary(let summary) = try await events.next()?.body else {
                Issue.record("event \(number) is missing")
                return
            }
            #expect(summary.error?.message == "event \(number)")
        }
        await #expect(throws: MirrorError.self) { _ = try await events.next() }
        #expect(try await events.next() == nil)
    }

    @Test func aReaderThatWaitsIsWoken() async throws {
        let control = RunControl(EventQueueTests.plan)
        let run = Run(control)
        async let read = messages(run)
        for number in 0..<200 {
            control.send(event(number))
            if number % 20 == 0 { await Task.yield() }
        }
        control.finish(throwing: nil)
        #expect(try await read == (0..<200).map { "event \($0)" })
    }

    /// The same holds when there is always something to read, so the task never waits.
    @Test func aCancelledTaskReadsNoFurtherEvents() async throws {
        let control = RunControl(EventQueueTests.plan)
        for number in 0..<10 { control.send(event(number)) }
        let run = Run(control)
        let reading = Task {
            var count = 0
            for try await _ in run {
                count += 1
                withUnsafeCurrentTask { $0?.cancel() }
                control.send(event(100 + count))
            }
            return count
        }
        #expect(try await reading.value <= 11)
        #expect(control.events.isOver)
    }
}
