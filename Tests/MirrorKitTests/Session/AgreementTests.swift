@testable import MirrorKit
import MirrorTestSupport
import Testing

/// What a plan says, what a run tells, and what is refused, for manifests made in code.
@Suite(.timeLimit(.minutes(15))) struct AgreementTests {
    private let bytes = TestBytes.make(300_000, seed: 1)

    @Test func eventsAgreeWithThePlan() async throws {
        let rig = try SessionRig()
        var kept = try rig.resource("Caches/kept.bin", bytes)
        kept.refresh = .never
        let due = try rig.resource("Caches/due.bin", TestBytes.make(70_000, seed: 2))
        _ = try await rig.session.sync(Manifest(name: "m", resources: [kept, due]))
        let new = try rig.resource("Documents/new.bin", TestBytes.make(10, seed: 3))
        let manifest = Manifest(name: "m", resources: [kept, due, new])
        let plan = try await rig.session.plan(manifest)
        #expect(plan.steps.map(\.kind) == [.revalidate, .keep, .fetch])
        var told: [Target: Step.Kind] = [:]
        for try await event in rig.session.execute(plan) {
            if case .done(let done) = event.body { told[done.target] = done.step }
        }
        #expect(told == Dictionary(uniqueKeysWithValues: plan.steps.map { ($0.target, $0.kind) }))
        #expect(try await rig.session.plan(manifest).steps.allSatisfy { $0.kind != .fetch })
    }

    @Test func equalTargetsAreRefused() async throws {
        let rig = try SessionRig()
        let resource = try rig.resource("Documents/a.bin", bytes)
        let error = await #expect(throws: MirrorError.self) {
            try await rig.session.plan(Manifest(name: "m", resources: [resource, resource]))
        }
        #expect(error?.code == .manifestInvalid)
    }

    @Test(arguments: ["Documents/A.bin", "Documents/a.bin/b", "Documents/\u{212A}/x"])
    func collidingTargetsAreRefused(path: String) async throws {
        let rig = try SessionRig()
        let resources = try ["Documents/a.bin", "Documents/k/x", path].map {
            try rig.resource($0, bytes)
        }
        let error = await #expect(throws: MirrorError.self) {
            try await rig.session.plan(Manifest(name: "m", resources: resources))
        }
        #expect(error?.code == .manifestInvalid)
    }

    /// Without its pin the file would be received again in every run.
    @Test func theStrongestDigestPinsWhateverTheOrder() async throws {
        let rig = try SessionRig()
        var resource = try rig.resource("Caches/a.bin", bytes)
        resource.digests = [
            ByteHasher.digest(.md5, of: bytes), ByteHasher.digest(.sha256, of: bytes),
        ]
        #expect(resource.pin?.algorithm == .sha256)
        let manifest = Manifest(name: "m", resources: [resource])
        #expect(manifest.resources[0] == resource)
        #expect(try await rig.session.sync(manifest)[.fetched] == 1)
        rig.origin.forgetRequests()
        #expect(try await rig.session.sync(manifest)[.kept] == 1)
        #expect(rig.origin.requests.isEmpty)
    }

    @Test func credentialsAreAskedOnceForTheirOrigin() async throws {
        let rig = try SessionRig()
        let one = try rig.resource("Caches/1.bin", bytes)
        let two = try rig.resource("Caches/2.bin", bytes)
        var asked = 0
        let origins = AsyncStream.makeStream(of: Origin.self)
        var options = RunOptions()
        options.credentials = { origin in
            origins.continuation.yield(origin)
            return [try HeaderField(name: "Authorization", value: Template(literal: "Bearer t"))]
        }
        _ = try await rig.session.sync(
            Manifest(name: "m", resources: [one, two]), options: options)
        origins.continuation.finish()
        for await origin in origins.stream {
            #expect(origin.description == rig.server.url)
            asked += 1
        }
        #expect(asked == 1)
        #expect(rig.bytes("Caches/2.bin") == bytes)
    }

    /// Each call waits for the others to have begun.
    @Test(.timeLimit(.minutes(5))) func originsAreAskedForAtTheSameTime() async throws {
        let rig = try SessionRig()
        let others = [try SessionRig(), try SessionRig()]
        var resources = [try rig.resource("Caches/0.bin", bytes)]
        for (number, other) in others.enumerated() {
            resources.append(try other.resource("Caches/\(number + 1).bin", bytes))
        }
        let (calls, call) = AsyncStream.makeStream(of: Void.self)
        let counting = Task { for await _ in calls.prefix(3) {} }
        var options = RunOptions()
        options.credentials = { _ in
            call.yield()
            await counting.value
            return []
        }
        let summary = try await rig.session.sync(
            Manifest(name: "m", resources: resources), options: options)
        #expect(summary[.fetched] == 3)
    }

    /// One that has failed ends the run, whatever the others do.
    @Test(.timeLimit(.minutes(5))) func theFirstOriginWithoutCredentialsEndsTheRun() async throws {
        struct NoToken: Error {}
        let rig = try SessionRig()
        let other = try SessionRig()
        let resources = [
            try rig.resource("Caches/0.bin", bytes), try other.resource("Caches/1.bin", bytes),
        ]
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        defer { end.finish() }
        let url = rig.server.url
        var options = RunOptions()
        options.credentials = { origin in
            if origin.description == url { throw NoToken() }
            // It does not heed that its task is cancelled.
            await Task.detached { for await _ in never {} }.value
            return []
        }
        let error = await #expect(throws: MirrorError.self) {
            try await rig.session.sync(Manifest(name: "m", resources: resources), options: options)
        }
        #expect(error?.code == .noCredentials)
        #expect(error?.message.contains("NoToken()") == true)
    }

    @Test func suppliedCredentialsStandInForTheManifests() async throws {
        let stage = try SessionStage(
            """
              on GET /a
                need Authorization: Bearer supplied
                need X-Other: kept
                reply
                  HTTP/1.1 200 OK
                  @body v1
            """)
        defer { stage.end() }
        var resource = try stage.resource("a")
        resource.primary.headers = [
            try HeaderField(name: "authorization", value: Template(literal: "Bearer written")),
            try HeaderField(name: "X-Other", value: Template(literal: "kept")),
        ]
        var options = RunOptions()
        options.credentials = { _ in
            [try HeaderField(name: "Authorization", value: Template(literal: "Bearer supplied"))]
        }
        let summary = try await stage.session.sync(
            Manifest(name: "m", resources: [resource]), options: options)
        #expect(summary.exit == 0)
        #expect(stage.scenario.script.complaints == [])
    }

    @Test(arguments: [("Authorization", "Bearer t\r\nX-Injected: 1"), ("Host", "other.example")])
    func suppliedCredentialsBringNoLineOfTheirOwn(name: String, value: String) async throws {
        let rig = try SessionRig()
        let resource = try rig.resource("Caches/1.bin", bytes)
        var options = RunOptions()
        options.credentials = { _ in
            [try HeaderField(name: name, value: Template(literal: value))]
        }
        let error = await #expect(throws: MirrorError.self) {
            try await rig.session.sync(Manifest(name: "m", resources: [resource]), options: options)
        }
        #expect(error?.code == .noCredentials)
        #expect(rig.origin.requests.isEmpty)
    }

    @Test func missingCredentialsEndTheRunBeforeRequests() async throws {
        struct NoToken: Error, CustomStringConvertible {
            let description = "the refresh token has expired."
        }
        let rig = try SessionRig()
        let resource = try rig.resource("Caches/1.bin", bytes)
        var options = RunOptions()
        options.credentials = { _ in throw NoToken() }
        let error = await #expect(throws: MirrorError.self) {
            try await rig.session.sync(Manifest(name: "m", resources: [resource]), options: options)
        }
        #expect(error?.code == .noCredentials)
        let sentence = """
            \(rig.server.url): no credentials were supplied: the refresh token has expired. \
            Nothing was fetched.
            """
        #expect(error.map { "\($0)" } == sentence)
        #expect(rig.origin.requests.isEmpty)
    }

    @Test func aKeptFileKeepsItsVerification() async throws {
        let rig = try SessionRig()
        var unpinned = try rig.resource("Caches/a.bin", bytes)
        unpinned.refresh = .never
        let manifest = Manifest(name: "m", resources: [unpinned])
        _ = try await rig.session.sync(manifest)
        var told: [Verification] = []
        for try await event in rig.session.execute(try await rig.session.plan(manifest)) {
            if case .done(let done) = event.body { told.append(done.verified) }
        }
        #expect(told == [.size])
    }
}
