@testable import MirrorKit

/// The engine, the run above it, and everything around them.
final class Stage {
    let story: Story
    let time: VirtualTime
    let wire: SimulatedWire
    let parts = SimulatedParts()
    let observer: SimulatedObserver
    let inbox: TransferInbox
    let engine: TransferEngine
    let disk: SimulatedDisk
    let run: SimulatedRun
    /// When the run was first asked to end.
    private(set) var endedAt: Int64?
    var wrong: [String] = []

    init(_ story: Story) throws {
        self.story = story
        time = story.time
        wire = SimulatedWire(time, story.chance, story.world)
        observer = SimulatedObserver(time)
        inbox = try TransferInbox()
        parts.roomFor = story.roomForParts
        for position in story.roles.indices {
            guard case .fetch(let wish) = story.roles[position].role,
                let record = try story.job(at: position)?.part,
                let bytes = story.partBytes(of: wish)
            else { continue }
            try parts.keep(record, bytes)
        }
        let chance = story.chance
        var surroundings = TransferEngine.Surroundings(
            wire: wire, parts: parts, observer: observer, inbox: inbox,
            workers: SimulatedWorkers(time, chance, slowness: story.slowness),
            readers: SimulatedWorkers(time, chance, slowness: story.slowness))
        surroundings.clock = time.clock
        surroundings.jitter = { chance.number(0...max(0, $0)) }
        engine = TransferEngine(story.configuration, surroundings)
        disk = SimulatedDisk(story, parts)
        run = try SimulatedRun(story, disk: disk, inbox: inbox)
        run.engine = engine
        observer.run = run
    }

    /// Runs until everything has ended, or nothing goes on.
    func play() throws {
        let configuration = story.configuration
        time.tell(
            "jobs \(configuration.jobs), per host \(configuration.perHost ?? 0), segments \(configuration.segments ?? 0), rate limit \(configuration.limitRate ?? 0), workers take up to \(story.slowness) ms"
        )
        for host in story.world.hosts { time.tell("\(host)") }
        for (number, wish) in story.wishes.enumerated() { time.tell("wish \(number): \(wish)") }
        for (job, step) in story.roles.enumerated() { time.tell("job \(job): \(step)") }
        time.tell("\(story.rules)")
        for (when, act) in story.acts { time.at(when) { [unowned self] in perform(act) } }
        run.post(.ready)
        // What workers had begun when the loop ended, ends too.
        defer { finishWork() }
        var turnsInAMoment = 0
        while let wait = engine.iterate() {
            checkLimits()
            if time.happen() { continue }
            if !engine.isHoldingBack { checkNothingCouldStart(wait) }
            if wait > 0 { checkRunWaitsForNothing() }
            let before = time.now
            time.advance(to: min(time.next ?? .max, time.now.addingSaturated(max(0, wait))))
            turnsInAMoment = time.now == before ? turnsInAMoment + 1 : 0
            if turnsInAMoment > 10_000 {
                let left = engine.register.downloads.mapValues(\.state)
                wrong.append("the loop turns without end at \(time.now) ms, with \(left)")
                return
            }
            if time.now > Simulation.longest {
                let left = engine.register.downloads.keys.sorted()
                let words = run.machine.isOver ? "over" : "not over"
                wrong.append("\(left) have not ended after \(time.now) ms, the run is \(words)")
                return
            }
            _ = time.happen()
        }
    }

    private func finishWork() {
        for _ in 0..<10_000 {
            guard let next = time.next else { return }
            time.advance(to: next)
            _ = time.happen()
        }
    }

    private func perform(_ act: Story.Act) {
        time.tell("\(act)")
        switch act {
        case .pause(let wish): steer(wish) { .pause($0) }
        case .resume(let wish): steer(wish) { .resume($0) }
        case .cancel(let wish, let discards):
            steer(wish) { .cancel($0, discardingPart: discards) }
        case .pauseAll: run.post(.pause(nil))
        case .resumeAll: run.post(.resume(nil))
        case .interrupt:
            endedAt = min(endedAt ?? .max, time.now)
            run.post(.end(.interrupted(exit: 130)))
        case .networkReturns: wire.networkReturns = true
        case .deny: run.post(.permission(.meteredNetwork))
        case .permit: run.post(.permission(nil))
        }
    }

    private func steer(_ wish: Int, _ input: (Target) -> RunInput) {
        if let target = try? Target("Caches/r\(wish)") { run.post(input(target)) }
    }

    /// Time is about to pass: no transfer may wait for its turn while the window has room.
    private func checkRunWaitsForNothing() {
        guard !run.machine.isOver, !run.machine.isEnding, run.machine.steps.book.table.local == 0
        else { return }
        var window = run.machine.steps.transfers.window
        let next = window.next()
        if !next.isEmpty, run.machine.hasBegun { note("\(next) could be handed to the loop") }
    }

    private func checkLimits() {
        let places = engine.register.dispatcher.placesInUse
        if places > story.configuration.jobs { note("\(places) places are in use") }
        guard let most = story.configuration.perHost else { return }
        for (host, count) in wire.running where count > most {
            note("\(count) requests run at h\(host)")
        }
    }

    /// The loop is about to wait: no transfer that waits for a healthy host may have a place free.
    private func checkNothingCouldStart(_ wait: Int64) {
        // A rate limit leaves a place for each 32 KiB/s.
        let places = min(
            story.configuration.jobs,
            story.configuration.limitRate?.least.map { max(4, Int($0 / (32 << 10))) } ?? .max)
        guard wait > 0, engine.register.dispatcher.placesInUse < places else { return }
        var held: [Host: Int] = [:]
        var waiting: [Host: Int] = [:]
        for transfer in engine.register.downloads.values {
            switch transfer.state {
            case .queued: if !transfer.isPaused { waiting[transfer.nextHost] = transfer.id }
            case .working, .reading, .exchanging, .joined:
                held[transfer.nextHost, default: 0] += 1
                // A further connection may have moved the transfer's place to another source.
                guard transfer.segments != nil else { continue }
                for source in transfer.sources { held[Host(source.url), default: 0] += 1 }
            case .waiting, .settling: break
            }
        }
        for (host, job) in waiting {
            guard
                let number = story.world.hosts.firstIndex(where: {
                    "\($0.name).example" == host.name
                }),
                story.world.hosts[number].isHealthy, wire.requestsMade > 0,
                (held[host] ?? 0) + (wire.running[number] ?? 0) == 0
            else { continue }
            note("job \(job) waits, h\(number) has places, and nothing runs there")
        }
    }

    func note(_ words: String) {
        if wrong.count < 20 { wrong.append("\(time.now) ms: \(words)") }
    }
}
