@testable import MirrorKit

/// What is right after a simulation.
extension Stage {
    func judge() throws -> Simulation.Finding {
        var finding = Simulation.Finding()
        for job in story.roles.indices { try judge(job, &finding) }
        if wrong.isEmpty { judgeLeftovers() }
        judgeTime()
        judgeRun()
        for leak in wire.leaks { note(leak) }
        finding.wrong = wrong
        finding.milliseconds = time.now
        finding.requests = wire.requestsMade
        finding.story = time.story
        return finding
    }

    /// What a transfer told.
    private func judge(_ job: Int, _ finding: inout Simulation.Finding) throws {
        guard let told = observer.told[job], let wish = story.wish(of: story.roles[job].role) else {
            return
        }
        let ends = observer.ends[job] ?? []
        guard ends.count == 1, let end = ends.first else {
            return note("job \(job) ended \(ends.count) times")
        }
        guard case .ended? = told.last else { return note("job \(job) tells more after its end") }
        var starts = 0
        for item in told {
            if case .started = item { starts += 1 }
        }
        if starts > 1 { note("job \(job) began \(starts) times") }
        switch end.result {
        case .received(let body):
            finding.received += 1
            try judge(body, of: job, wish)
        case .notModified:
            if !isKnown(
                story.wishes[wish].past, of: story.world.resources[story.wishes[wish].resource])
            {
                note("job \(job) is confirmed, and no source has what is there")
            }
        case .failed(let error, _):
            finding.failed += 1
            if error.code == .internalError { note("job \(job): \(error.message)") }
            if story.mustBeGranted(wish) { note("job \(job) failed: \(error.message)") }
        case .leftOut: note("job \(job) was left out, and every disk here has room")
        case .cancelled:
            finding.cancelled += 1
            let isWanted = story.acts.isEmpty && story.rules.deadline == nil
            let isAsked = run.summary?.error != nil || story.rules.stopsAtFirstFailure
            if isWanted, !isAsked { note("job \(job) was cancelled by nobody") }
        }
    }

    /// A body holds one version, and the one that was wanted.
    private func judge(_ body: ReceivedBody, of job: Int, _ number: Int) throws {
        let wish = story.wishes[number]
        let resource = story.world.resources[wish.resource]
        let bytes: [UInt8]?
        switch body.content {
        case .memory(let held): bytes = held
        case .part(let name, _): bytes = try parts.bytes(name)
        default: bytes = nil
        }
        // What was promoted or not wanted any more is gone.
        guard let bytes else { return }
        let versions = wish.isPinned ? 0...0 : resource.versions
        guard let version = versions.first(where: { resource.bytes(of: $0) == bytes }) else {
            return note("job \(job) holds \(bytes.count) bytes of no version")
        }
        if resource.digest(of: version) != body.sha256 {
            note("job \(job) is told with another digest")
        }
        if body.size != Int64(bytes.count) { note("job \(job) is told with another size") }
    }

    /// Whether a file that was there is of a version that its sources had in this run.
    func isKnown(_ past: Story.Past, of resource: SimulatedResource) -> Bool {
        guard case .file(let version) = past else { return false }
        return resource.versions.contains { resource.bytes(of: $0) == resource.bytes(of: version) }
    }

    private func judgeLeftovers() {
        if wire.count > 0 { note("\(wire.count) requests are left") }
        if engine.register.dispatcher.placesInUse > 0 {
            note("\(engine.register.dispatcher.placesInUse) places were not given back")
        }
        if engine.work.chunks.bytesInUse > 0 {
            note("\(engine.work.chunks.bytesInUse) bytes of buffers are left")
        }
        for (job, ends) in observer.ends {
            guard case .failed(let error, _)? = ends.first?.result, error.code == .noSpace else {
                continue
            }
            if !parts.isOverfull { note("job \(job) has no space, and there is") }
        }
    }

    /// Healthy hosts are not held up by the others.
    private func judgeTime() {
        let granted = story.roles.indices.filter { job in
            guard case .fetch(let wish) = story.roles[job].role else { return false }
            return story.mustBeGranted(wish)
        }
        guard story.configuration.limitRate == nil, !granted.isEmpty else { return }
        var alone: Int64 = 10_000
        // A copy of what is not there is fetched, too.
        for role in story.roles {
            guard let number = story.wish(of: role.role), story.mustBeGranted(number) else {
                continue
            }
            let wish = story.wishes[number]
            let size = Int64(story.world.resources[wish.resource].size)
            for host in wish.hosts.prefix(1) + wish.redirectedBy {
                let host = story.world.hosts[host]
                alone += 4 * host.roundTrip + size / host.rate + 4 * story.slowness + 50
            }
            alone += story.slowness * (size / 65536 + 1) * 4 + 2 * story.hop
            // What an earlier run left is read first, and may have to be fetched again.
            if case .part = wish.past { alone *= 2 }
        }
        alone += Int64(story.roles.count / 512 + 2) * (200 + story.diskLatency)
        // Whoever sends a little now and then keeps its place for as long as it may, and whoever is
        // slow for as long as two whole bodies take, because wrong bytes are asked for once more.
        let policy = story.configuration.transfer
        let patience =
            Int64(policy.retries + 1) * (policy.stallTimeout.wholeSeconds * 1000 + 20_000)
        var bound = 2 * alone
        for role in story.roles {
            guard let number = story.wish(of: role.role), !story.mustBeGranted(number) else {
                continue
            }
            let wish = story.wishes[number]
            let size = Int64(story.world.resources[wish.resource].size)
            for host in wish.hosts { bound += patience + 2 * size / story.world.hosts[host].rate }
        }
        for job in granted {
            guard let end = observer.ends[job]?.first?.time, end > bound else { continue }
            note("job \(job) of healthy hosts ended after \(end) ms, not within \(bound)")
        }
    }
}
