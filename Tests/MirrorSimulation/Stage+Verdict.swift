@testable import MirrorKit
@testable import MirrorModel

/// What is right after a simulation.
extension Stage {
    func judge() throws -> Simulation.Finding {
        var finding = Simulation.Finding()
        for job in story.wishes.indices { try judge(job, &finding) }
        if wrong.isEmpty { judgeLeftovers() }
        judgeTime()
        finding.wrong = wrong
        finding.milliseconds = time.now
        finding.requests = wire.requestsMade
        finding.story = time.story
        return finding
    }

    private func judge(_ job: Int, _ finding: inout Simulation.Finding) throws {
        let ends = news.ends[job] ?? []
        guard ends.count == 1, let end = ends.first else {
            return note("job \(job) ended \(ends.count) times")
        }
        let told = news.told[job] ?? []
        guard case .ended? = told.last else { return note("job \(job) tells more after its end") }
        var starts = 0
        for item in told {
            if case .started = item { starts += 1 }
        }
        if starts > 1 { note("job \(job) began \(starts) times") }
        switch end.result {
        case .received(let body):
            finding.received += 1
            try judge(body, of: job)
        case .notModified: note("job \(job) is confirmed, and nothing was there")
        case .failed(let error, _):
            finding.failed += 1
            if error.code == .internalError { note("job \(job): \(error.message)") }
            if story.mustBeGranted(job) { note("job \(job) failed: \(error.message)") }
        case .cancelled:
            finding.cancelled += 1
            if story.acts.isEmpty { note("job \(job) was cancelled by nobody") }
        }
    }

    /// A body holds one version, and the one that was wanted.
    private func judge(_ body: ReceivedBody, of job: Int) throws {
        let wish = story.wishes[job]
        let resource = story.world.resources[wish.resource]
        let bytes: [UInt8]?
        switch body.content {
        case .memory(let held): bytes = held
        case .part(let name, _): bytes = try parts.bytes(name)
        }
        guard let bytes else { return note("job \(job): its part is gone") }
        let versions = wish.isPinned ? 0...0 : resource.versions
        guard versions.contains(where: { resource.bytes(of: $0) == bytes }) else {
            return note("job \(job) holds \(bytes.count) bytes of no version")
        }
        if ByteHasher.digest(.sha256, of: bytes) != body.sha256 {
            note("job \(job) is told with another digest")
        }
        if body.size != Int64(bytes.count) { note("job \(job) is told with another size") }
    }

    private func judgeLeftovers() {
        if wire.count > 0 { note("\(wire.count) requests are left") }
        if engine.dispatcher.placesInUse > 0 {
            note("\(engine.dispatcher.placesInUse) places were not given back")
        }
        if engine.chunks.bytesInUse > 0 {
            note("\(engine.chunks.bytesInUse) bytes of buffers are left")
        }
        for (job, ends) in news.ends {
            guard case .failed(let error, _)? = ends.first?.result, error.code == .noSpace else {
                continue
            }
            if !parts.isOverfull { note("job \(job) has no space, and there is") }
        }
    }

    /// Healthy hosts are not held up by the others.
    private func judgeTime() {
        let granted = story.wishes.indices.filter(story.mustBeGranted)
        guard story.configuration.rateLimit == nil, !granted.isEmpty else { return }
        var alone: Int64 = 10_000
        for job in granted {
            let wish = story.wishes[job]
            let size = Int64(story.world.resources[wish.resource].size)
            for host in (wish.hosts.prefix(1) + [wish.redirectedBy].compactMap { $0 }) {
                let host = story.world.hosts[host]
                alone += 4 * host.roundTrip + size / host.rate + 4 * story.slowness + 50
            }
            alone += story.slowness * (size / 65536 + 1) * 4
        }
        // Whoever sends a little now and then keeps its place for as long as it may.
        let policy = story.configuration.transfer
        let patience = Int64(policy.retries + 1) * (policy.stallTimeout * 1000 + 20_000)
        let others = story.wishes.indices.filter { !story.mustBeGranted($0) }
        let bound =
            2 * alone + others.reduce(0) { $0 + patience * Int64(story.wishes[$1].hosts.count) }
        for job in granted {
            guard let end = news.ends[job]?.first?.time, end > bound else { continue }
            note("job \(job) of healthy hosts ended after \(end) ms, not within \(bound)")
        }
    }
}
