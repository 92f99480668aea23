@testable import MirrorKit

/// What a story's run carries out: its wishes, and steps that need no server.
extension Story {
    /// A step of the run.
    enum Role: Hashable {
        /// Fetches what the wish of this number asks for.
        case fetch(Int)
        /// Wants what another wish asks for as well, by the same request.
        case share(Int)
        /// Is there already, and gets a row.
        case adopt
        /// Is copied from a file of the tree, which may be gone.
        case copy(of: Int)
        /// Is no longer wanted.
        case remove
    }

    static func roles(_ chance: Chance, wishes: Int) -> [(target: String, role: Role)] {
        var roles = (0..<wishes).map { ("Caches/r\($0)", Role.fetch($0)) }
        for wish in 0..<wishes where chance.oneIn(8) {
            roles.append(("Caches/s\(wish)", .share(wish)))
        }
        if chance.oneIn(3) {
            for number in 0..<Int(chance.number(0...5)) {
                roles.append(("Caches/a\(number)", .adopt))
            }
            for wish in 0..<wishes where chance.oneIn(6) {
                roles.append(("Caches/c\(wish)", .copy(of: wish)))
            }
            for number in 0..<Int(chance.number(0...5)) {
                roles.append(("Caches/z\(number)", .remove))
            }
        }
        return roles.sorted { $0.0 < $1.0 }
    }

    /// The plan, whose steps are those of `roles`, in this order.
    func plan() throws -> Plan {
        var resources: [Resource] = []
        var steps: [Step] = []
        for (name, role) in roles {
            let target = try Target(name)
            var number: Int?
            if let wish = wish(of: role) {
                number = resources.count
                resources.append(try resource(target, wish))
            }
            steps.append(try step(target, role, resource: number, of: resources))
        }
        var manifest = Manifest(name: "simulated", resources: resources)
        manifest.isAtomic = isAtomic
        return Plan(
            root: "/simulated", manifests: [manifest],
            steps: steps, now: time.clock.now(), orphansLeft: 0)
    }

    /// The wish that a role is about; nil for one that wants nothing.
    func wish(of role: Role) -> Int? {
        switch role {
        case .fetch(let wish), .share(let wish), .copy(let wish): wish
        case .adopt: 0
        case .remove: nil
        }
    }

    /// Whether a wish is granted even while the rest is denied.
    static func isUrgent(_ wish: Int) -> Bool { wish % 4 == 3 }

    private func resource(_ target: Target, _ number: Int) throws -> Resource {
        let wish = wishes[number]
        let wanted = world.resources[wish.resource]
        let urls = try wish.hosts.enumerated().map { position, host in
            try SourceURL(
                world.address(
                    of: wish.resource, at: host, by: position == 0 ? wish.redirectedBy : []))
        }
        var resource = Resource(target: target, url: urls[0])
        resource.mirrors = urls.dropFirst().map { Source(url: $0) }
        if wish.declaresSize || wish.isPinned { resource.size = Int64(wanted.size(of: 0)) }
        if wish.isPinned { resource.digests = [wanted.digest(of: 0)] }
        resource.priority = Int32(number % 3)
        resource.isUrgent = Story.isUrgent(number)
        return resource
    }

    private func step(
        _ target: Target, _ role: Role, resource: Int?, of resources: [Resource]
    ) throws -> Step {
        if case .fetch(let wish) = role, let resource,
            let step = step(target, wish, resource: resource, resources[resource])
        {
            return step
        }
        let stamp = FileStamp(size: 5, modified: 1, changed: 1, inode: 1)
        let sha256 = world.resources[0].digest(of: 0)
        switch role {
        case .fetch, .share:
            return Step(
                target: target, manifest: 0, resource: resource,
                kind: rules.onConflict == .keep && chance.oneIn(2) ? .conflict : .fetch,
                reason: .missing, means: .transfer(part: nil, ifChangedSince: nil),
                existing: .nothing, size: nil)
        case .adopt:
            return Step(
                target: target, manifest: 0, resource: resource, kind: .keep, reason: .unrecorded,
                means: .adoption(sha256: sha256), existing: .ours(stamp, sha256: sha256), size: 5)
        case .copy(let wish):
            return Step(
                target: target, manifest: 0, resource: resource, kind: .copy, reason: .missing,
                means: .copy(of: try Target("Documents/d\(wish)")), existing: .nothing, size: nil)
        case .remove:
            return Step(
                target: target, manifest: 0, resource: nil, kind: .remove,
                reason: .orphan(of: "simulated"), means: .removal,
                existing: .ours(stamp, sha256: sha256), size: 5)
        }
    }

    /// A step that goes on from what an earlier run left.
    private func step(
        _ target: Target, _ wish: Int, resource number: Int, _ resource: Resource
    ) -> Step? {
        if let part = partRecord(of: wish, for: target, resource) {
            return Step(
                target: target, manifest: 0, resource: number, kind: .resume,
                reason: .partAvailable(bytes: part.loggedBytes),
                means: .transfer(part: part, ifChangedSince: nil), existing: .nothing, size: nil)
        }
        guard let record = fileRecord(of: wish, for: target, resource) else { return nil }
        return Step(
            target: target, manifest: 0, resource: number, kind: .revalidate, reason: .missing,
            means: .transfer(part: nil, ifChangedSince: record.localVersion),
            existing: .ours(record.stamp, sha256: record.sha256), size: nil)
    }

    /// What the index knows of the target of the step at a position.
    func ownRow(at position: Int) throws -> IndexRecord? {
        guard case .fetch(let wish) = roles[position].role else { return nil }
        let target = try Target(roles[position].target)
        return fileRecord(of: wish, for: target, try resource(target, wish))
    }

    /// What the index knows of a target: files that are copied, some of which are gone.
    func row(of target: Target) -> IndexRecord? {
        guard let wish = wish(ofLocalSource: target), wish % 3 != 0 else { return nil }
        let wanted = world.resources[wishes[wish].resource]
        return IndexRecord(
            target: target, owner: "simulated",
            stamp: FileStamp(size: Int64(wanted.size(of: 0)), modified: 1, changed: 1, inode: 1),
            sha256: wanted.digest(of: 0), verified: .digest, promotedAt: Instant(seconds: 0))
    }

    /// The bytes of a file that is copied.
    func bytes(of target: Target) -> [UInt8] {
        wish(ofLocalSource: target).map { world.resources[wishes[$0].resource].bytes(of: 0) } ?? []
    }

    private func wish(ofLocalSource target: Target) -> Int? {
        target.path.hasPrefix("Documents/d") ? Int(target.path.dropFirst("Documents/d".count)) : nil
    }

    /// The job of the step at a position, which is its number too.
    func job(at position: Int) throws -> Download? {
        guard let number = wish(of: roles[position].role) else { return nil }
        let resource = try resource(try Target(roles[position].target), number)
        var past: Step?
        if case .fetch = roles[position].role {
            past = step(resource.target, number, resource: 0, resource)
        }
        return Download(
            id: position, target: resource.target,
            sources: resource.sources.map {
                PreparedSource(url: $0.url, key: SourceKey($0.url), headers: [])
            },
            postBody: nil, expectation: Expectation(of: resource, replacing: nil),
            local: past?.local, part: past?.part, priority: resource.priority,
            isDecisive: rules.stopsAtFirstFailure, keepsPart: isAtomic)
    }
}
