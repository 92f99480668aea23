import Testing

@testable import MirrorKit

/// Hosts that do not answer: what they cost, and whom.
@Suite struct SilentHostTests {
    @Test func aSharedDeadHostCostsOneLadder() throws {
        let dispatcher = Dispatching()
        let a = try Dispatching.host("a")
        dispatcher.add(1...100, a)
        var (now, tries, waits) = (Int64(0), 0, [Int64]())
        while tries < 100 {
            let running = dispatcher.fill(now: now)
            tries += 1
            // Only the first tries go out together.
            #expect(running.count == (tries == 1 ? 9 : 1))
            now += 10
            dispatcher.advance(to: now)
            var silences: [HostSilence] = []
            for id in running {
                silences.append(dispatcher.fail(id, at: a, Dispatching.refused))
            }
            guard case .ofHost(let wait) = silences[0] else { break }
            waits.append(wait)
            #expect(dispatcher.timeToWait() == wait)
            now += wait
        }
        #expect(waits == [500, 1000, 2000, 4000, 8000, 16_000, 30_000])
        #expect(tries == 8)
        // All hear at once that it is down.
        let rest = dispatcher.fill(now: now)
        #expect(rest.count == 9)
        for id in rest {
            guard case .down(let outage) = dispatcher.admit(id, to: a) else {
                Issue.record("a dead host is asked")
                return
            }
            #expect(outage.tries == 8)
        }
    }

    @Test func anAnswerEndsTheOutage() throws {
        let dispatcher = Dispatching()
        let a = try Dispatching.host("a")
        dispatcher.add(1...9, a)
        for id in dispatcher.fill() {
            _ = dispatcher.fail(id, at: a, Dispatching.silent)
        }
        #expect(dispatcher.fill(now: 500) == [1])
        dispatcher.answered(1)
        #expect(dispatcher.fill(now: 500) == [2, 3, 4, 5, 6, 7, 8, 9])
    }

    @Test func aHostThatAnsweredMustBeUnreachable() throws {
        let dispatcher = Dispatching()
        let a = try Dispatching.host("a")
        dispatcher.add(1...3, a)
        #expect(dispatcher.fill() == [1, 2, 3])
        dispatcher.answered(1)
        guard case .ofTransfer = dispatcher.failed(2, Dispatching.silent) else {
            Issue.record("one bad request makes a host look dead")
            return
        }
        guard case .ofHost = dispatcher.failed(3, Dispatching.refused) else {
            Issue.record("a host that is gone is asked by all")
            return
        }
    }

    @Test func aWrongCertificateIsWrongForAll() throws {
        let dispatcher = Dispatching()
        let a = try Dispatching.host("a")
        dispatcher.add(1...2, a)
        #expect(dispatcher.fill() == [1, 2])
        let failure = TransportFailure(.tlsFailed, "expired", isPassing: false, wasSent: false)
        guard case .forGood = dispatcher.failed(1, failure) else {
            Issue.record("a wrong certificate is tried again")
            return
        }
    }

    @Test func withoutRetriesADeadHostIsDown() throws {
        let dispatcher = Dispatching(retries: 0)
        dispatcher.add([1], try Dispatching.host("a"))
        #expect(dispatcher.fill() == [1])
        guard case .forGood(let outage) = dispatcher.failed(1, Dispatching.refused) else {
            Issue.record("a retry that nobody allowed")
            return
        }
        #expect(outage.tries == 1)
    }

    @Test func hangingAddressesKeepTheirHostUp() throws {
        let dispatcher = Dispatching(retries: 1)
        let a = try Dispatching.host("a")
        dispatcher.add(1...140, a)
        // The first 40 are never answered.
        let hanging = dispatcher.fill()
        #expect(hanging == Array(1...9))
        dispatcher.advance(to: 30_000)
        for id in hanging {
            guard case .ofHost = dispatcher.fail(id, at: a, Dispatching.silent) else {
                Issue.record("the host is down with 131 files that were never asked for")
                return
            }
        }
        // The next try goes to one from elsewhere in the list.
        let next = dispatcher.fill(now: 31_000)
        #expect(next.count == 1 && next[0] > 40)
        dispatcher.answered(next[0])
        dispatcher.release(next[0])
        // Those that hung stand behind all that were never asked for.
        var order: [Int] = []
        while case let ids = dispatcher.fill(now: 31_000), !ids.isEmpty {
            order += ids
            for id in ids { dispatcher.release(id) }
        }
        #expect(order == (10...140).filter { $0 != next[0] } + Array(1...9))
    }

    @Test(arguments: [(1, 1), (3, 3), (8, 8), (20, 8)])
    func anUnansweringHostIsDownAfterEight(files: Int, tried: Int) throws {
        let dispatcher = Dispatching(jobs: 1, retries: 0)
        let a = try Dispatching.host("a")
        dispatcher.add(1...files, a)
        var asked: [Int] = []
        for turn in 1...50 {
            guard let id = dispatcher.fill(now: Int64(turn) * 60_000).first else { break }
            asked.append(id)
            if case .forGood = dispatcher.fail(id, at: a, Dispatching.silent) { break }
        }
        #expect(asked.count == tried)
        #expect(Set(asked).count == tried)
    }

    @Test func anUnansweredTransferGivesWay() throws {
        let dispatcher = Dispatching(jobs: 1, retries: 7)
        let a = try Dispatching.host("a")
        dispatcher.add([1, 2], a)
        #expect(dispatcher.fill() == [1])
        guard case .ofHost(let wait) = dispatcher.failed(1, Dispatching.silent) else {
            Issue.record("the host is down after one try")
            return
        }
        // Its place is still its own, and the time of the next try has come.
        dispatcher.advance(to: wait)
        guard case .waits = dispatcher.admit(1, to: a) else {
            Issue.record("it asks again before the other has asked")
            return
        }
        dispatcher.release(1)
        dispatcher.add([1], a)
        #expect(dispatcher.fill(now: wait) == [2])
    }

    @Test func oneHangingAddressKeepsItsHostUp() throws {
        let dispatcher = Dispatching(jobs: 1, retries: 1)
        let a = try Dispatching.host("a")
        dispatcher.add([1], a, priority: 10)
        dispatcher.add(2...3, a)
        #expect(dispatcher.fill() == [1])
        _ = dispatcher.failed(1, Dispatching.silent)
        dispatcher.release(1)
        dispatcher.add([1], a, priority: 10)
        // The host gets the others first, whatever their priority, until it answers.
        #expect(dispatcher.fill(now: 31_000) == [3])
        dispatcher.answered(3)
        dispatcher.release(3)
        #expect(dispatcher.fill(now: 31_000) == [1])
    }

    @Test func aSecondSourceAvoidsADeadHost() throws {
        let dispatcher = Dispatching(jobs: 1)
        let (a, b) = (try Dispatching.host("a"), try Dispatching.host("b"))
        dispatcher.add(1...2, a)
        dispatcher.add([3], a, hasOthers: true)
        #expect(dispatcher.fill() == [1])
        _ = dispatcher.fail(1, at: a, Dispatching.silent)
        // 2 waits for the host; 3 gets a place to go elsewhere.
        #expect(dispatcher.fill() == [3])
        guard case .elsewhere = dispatcher.admit(3, to: a), case .ask = dispatcher.admit(3, to: b)
        else {
            Issue.record("it waits for a host that does not answer")
            return
        }
    }

    @Test func silentHostsHoldAQuarterBesideWork() throws {
        let dispatcher = Dispatching(jobs: 16, perHost: 8)
        let (good, bad) = (try Dispatching.host("good"), try Dispatching.host("bad"))
        dispatcher.add([0], good)
        #expect(dispatcher.fill() == [0])
        dispatcher.answered(0)
        dispatcher.add(1...8, bad)
        dispatcher.add(9...40, good)
        #expect(dispatcher.fill() == [1, 2, 3, 4] + Array(9...15) + [5, 6, 7, 8])
        // What the good host leaves free is not left empty, and once it has more it goes first.
        dispatcher.release(9)
        #expect(dispatcher.fill() == [16])
    }

    @Test func anUnansweredTryLendsItsPlace() throws {
        let dispatcher = Dispatching(jobs: 1)
        let (bad, good) = (try Dispatching.host("bad"), try Dispatching.host("good"))
        dispatcher.add([1], bad)
        dispatcher.add([2], good)
        #expect(dispatcher.fill() == [1])
        dispatcher.advance(to: 999)
        #expect(dispatcher.lenders().isEmpty)
        dispatcher.advance(to: 1000)
        #expect(dispatcher.lenders() == [1])
        dispatcher.lend(1)
        dispatcher.add([1], bad)
        #expect(dispatcher.fill(now: 1000) == [2])
        dispatcher.release(2)
        dispatcher.add([3], try Dispatching.host("third"))
        #expect(dispatcher.fill(now: 1000) == [3])
        dispatcher.release(3)
        #expect(dispatcher.fill(now: 1000) == [1])
        dispatcher.add([4], try Dispatching.host("fourth"))
        dispatcher.advance(to: 2999)
        #expect(dispatcher.lenders().isEmpty)
        dispatcher.advance(to: 3000)
        #expect(dispatcher.lenders() == [1])
    }

    @Test func placeIsLentOnlyWhereWantedAndUnanswered() throws {
        let dispatcher = Dispatching(jobs: 1)
        dispatcher.add([1], try Dispatching.host("a"))
        #expect(dispatcher.fill() == [1])
        dispatcher.advance(to: 60_000)
        #expect(dispatcher.lenders().isEmpty)
        dispatcher.answered(1)
        dispatcher.add([2], try Dispatching.host("b"))
        #expect(dispatcher.lenders().isEmpty)
    }
}

/// Many hosts in virtual time: those that answer do so after 5 ms, the others never.
@Suite struct ManyHostsTests {
    private struct World: ~Copyable {
        var dispatcher: Dispatcher
        let hosts: [Host]
        let isDead: (Int) -> Bool
        let files: Int
        var now: Int64 = 0
        /// When each running request ends, and how.
        var running: [Int: Int64] = [:]
        var done = 0
        var mostRunning = 0

        func host(_ id: Int) -> Int { id % hosts.count }

        /// Runs until all files of hosts that answer are there; gives the time, or nil after an hour.
        mutating func run() -> Int64? {
            let wanted = (0..<files).count { !isDead(host($0)) }
            for id in 0..<files { dispatcher.add(id, priority: 0, host: hosts[host(id)]) }
            while done < wanted, now < 3_600_000 {
                start()
                let next = [running.values.min(), now + AskingTime.look].compactMap { $0 }.min()
                now = min(next ?? now, now + (dispatcher.timeToWait() ?? AskingTime.look))
                dispatcher.advance(to: now)
                end()
                for id in dispatcher.lenders() where isDead(host(id)) {
                    running[id] = nil
                    dispatcher.lend(id)
                    dispatcher.add(id, priority: 0, host: hosts[host(id)])
                }
            }
            return done == wanted ? now : nil
        }

        private mutating func start() {
            while let id = dispatcher.next() {
                switch dispatcher.admit(id, to: hosts[host(id)]) {
                case .ask: running[id] = now + (isDead(host(id)) ? 30_000 : 5)
                default: dispatcher.release(id)
                }
            }
            mostRunning = max(mostRunning, running.count)
        }

        private mutating func end() {
            for (id, at) in running where at <= now {
                running[id] = nil
                if isDead(host(id)) {
                    _ = dispatcher.failed(id, Dispatching.silent)
                    dispatcher.release(id)
                    dispatcher.add(id, priority: 0, host: hosts[host(id)])
                } else {
                    dispatcher.answered(id)
                    dispatcher.release(id)
                    done += 1
                }
            }
        }
    }

    private func world(dead: @escaping (Int) -> Bool) throws -> World {
        World(
            dispatcher: Dispatcher(jobs: 16, perHost: 8, jitter: { $0 }),
            hosts: try (0..<50).map { try Dispatching.host("h\($0)") }, isDead: dead,
            files: 2000)
    }

    @Test func silentHostsDelayOthersTwoSeconds() throws {
        var healthy = try world { _ in false }
        let healthyTime = healthy.run()
        let alone = try #require(healthyTime)
        let thirds: [(Int) -> Bool] = [{ $0 % 3 == 0 }, { $0 < 17 }, { $0 >= 33 }]
        for dead in thirds {
            var world = try world(dead: dead)
            let time = world.run()
            #expect(try #require(time) <= alone + 2000)
            #expect(world.mostRunning <= 16)
        }
    }

    /// A host is down, and many get places to learn that. Then it answers a request that was on its way.
    @Test func lateHostsGetNoMoreThanTheirNumber() throws {
        let dispatcher = Dispatching(perHost: 2, retries: 0)
        let a = try Dispatching.host("a")
        dispatcher.add(1...6, a)
        #expect(dispatcher.fill() == [1, 2])
        guard case .ask = dispatcher.admit(1, to: a), case .ask = dispatcher.admit(2, to: a) else {
            Issue.record("the first two may not ask")
            return
        }
        _ = dispatcher.failed(1, Dispatching.refused)
        dispatcher.release(1)
        #expect(dispatcher.fill(now: 1) == [3, 4, 5, 6])
        dispatcher.answered(2)
        for id in [3, 4, 5] {
            guard case .waits = dispatcher.admit(id, to: a) else {
                Issue.record("\(id) asks beside others")
                return
            }
            dispatcher.release(id)
            dispatcher.add([id], a)
        }
        guard case .ask = dispatcher.admit(6, to: a) else {
            Issue.record("the last of them waits, and there is room")
            return
        }
        #expect(dispatcher.fill(now: 2).isEmpty)
        dispatcher.release(2)
        #expect(dispatcher.fill(now: 3) == [3])
    }
}
