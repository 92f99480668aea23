@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Values that no manifest and no option could have are refused when a program sets them.
@Suite(.timeLimit(.minutes(5))) struct ValidationTests {
    /// A manifest with one flaw, and what its refusal says.
    struct Flawed: Sendable, CustomTestStringConvertible {
        let says: String
        var name = "m"
        var change: @Sendable (inout Resource) throws -> Void = { _ in }

        var testDescription: String { says }
    }

    static let flawed: [Flawed] = [
        Flawed(says: "it is empty", name: ""),
        Flawed(says: "control character", name: "a\nb"),
        Flawed(says: "more than 200 bytes", name: String(repeating: "n", count: 201)),
        Flawed(says: "Caches/a: size is -5") { $0.size = -5 },
        Flawed(says: "Caches/a: size is -1") { $0.size = -1 },
        Flawed(says: "this sha256 is") {
            $0.digests = [
                ByteHasher.digest(.sha256, of: [1]), ByteHasher.digest(.sha256, of: [2]),
            ]
        },
        Flawed(says: "not a file of 9 bytes") {
            $0.size = 9
            $0.pieces = Pieces(length: 4, digests: [ByteHasher.digest(.sha256, of: [1])])
        },
        Flawed(says: "refresh is 0 s") { $0.refresh = .after(.seconds(0)) },
        Flawed(says: "refresh is 9223372036854775807 s") {
            $0.refresh = .after(.seconds(Int64.max))
        },
        Flawed(says: "the tag \"a b\"") { $0.tags = ["fine", "a b"] },
        Flawed(says: "the header \"accept\"") {
            $0.primary.headers = try ["Accept", "accept"].map {
                try HeaderField(name: $0, value: Template(literal: "text/plain"))
            }
        },
        Flawed(says: "the header \"accept\"") {
            var mirror = $0.primary
            mirror.headers = try ["Accept", "accept"].map {
                try HeaderField(name: $0, value: Template(literal: "text/plain"))
            }
            $0.mirrors = [mirror]
        },
    ]

    @Test(arguments: flawed)
    func inexpressibleValuesAreRefusedEverywhere(_ flawed: Flawed) async throws {
        let rig = try SessionRig()
        // A root that is there, so that each question is asked.
        try await rig.session.sync(Manifest(name: "first", resources: []))
        var resource = try rig.resource("Caches/a", [1])
        try flawed.change(&resource)
        let good = try rig.resource("Caches/good", [1])
        let manifest = Manifest(name: flawed.name, resources: [good, resource])
        let session = rig.session
        let file = ManifestFile(path: rig.folder.path + "/out.json")
        let questions: [@Sendable () async throws -> Void] = [
            { try manifest.validate() },
            { _ = try await session.plan(manifest) },
            { _ = try await session.sync(manifest) },
            { _ = try await session.status(of: [manifest]) },
            { _ = try await session.verify([manifest]) },
            {
                _ = try await Export(of: [manifest], as: .sums, leavesOut: true)
                    .write(to: .sink { _ in }, from: session)
            },
            { try await file.write(manifest, with: ManifestWriter(.json, label: "code")) },
        ]
        for (number, question) in questions.enumerated() {
            let error = await #expect(throws: MirrorError.self, "\(number)") {
                try await question()
            }
            #expect(error?.code == .manifestInvalid, "\(number)")
            #expect(
                error?.message.contains(flawed.says) == true, "\(number): \(error?.message ?? "")")
        }
        #expect(!file.exists)
        #expect(rig.origin.requests.isEmpty)
    }

    /// A reader has validated it, and what is added to it is a program's.
    @Test func additionsToAReadManifestAreValidated() async throws {
        let rig = try SessionRig()
        try rig.folder.write(#"{"name": "m", "resources": []}"#, to: "m.json")
        let source = ManifestSource.path(rig.folder.path + "/m.json")
        var manifest = try await source.read().manifest
        try manifest.validate()
        var resource = try rig.resource("Caches/a", [1])
        resource.size = -5
        manifest.resources.append(resource)
        let error = await #expect(throws: MirrorError.self) {
            try await rig.session.plan(manifest)
        }
        #expect(error?.code == .manifestInvalid)
    }

    static let configurations: [(String, @Sendable (inout Configuration) -> Void)] = [
        ("jobs is -3; 1 is the least.", { $0.jobs = -3 }),
        ("jobs is 0; 1 is the least.", { $0.jobs = 0 }),
        ("jobs is 9223372036854775807; 1048576 is the most.", { $0.jobs = .max }),
        ("perHost is 0; 1 is the least.", { $0.perHost = 0 }),
        ("segments is 0; 1 is the least.", { $0.segments = 0 }),
        ("transfer.retries is -1; 0 is the least.", { $0.transfer.retries = -1 }),
        ("transfer.retries is \(Int.max); 2147483647 is the most.", { $0.transfer.retries = .max }),
        ("transfer.maxWait is -1; 0 is the least.", { $0.transfer.maxWait = .seconds(-1) }),
        ("transfer.stallTimeout is 0; 1 is the least.", { $0.transfer.stallTimeout = .seconds(0) }),
        (
            "transfer.connectTimeout is 0; 1 is the least.",
            { $0.transfer.connectTimeout = .seconds(0) }
        ),
        ("transfer.maxSize is -1; 0 is the least.", { $0.transfer.maxSize = -1 }),
        ("limitRate is -1; 0 is the least.", { $0.limitRate = RateLimit(-1) }),
        ("maxTransfer is -1; 0 is the least.", { $0.maxTransfer = -1 }),
        ("minFree is -1; 0 is the least.", { $0.minFree = -1 }),
    ]

    @Test(arguments: configurations.indices)
    func aConfigurationOutOfItsRangeIsRefused(_ number: Int) async throws {
        let (says, change) = Self.configurations[number]
        var changed = Configuration()
        change(&changed)
        let configuration = changed
        let folder = try TemporaryFolder()
        let url = try SourceURL("http://127.0.0.1:1/a")
        let uses: [@Sendable () async throws -> Void] = [
            { _ = try MirrorSession(root: folder.path, configuration: configuration) },
            { _ = try await ManifestSource.url(url).read(configuration: configuration) },
            { _ = try await ServerProbe.reports(on: [url], configuration: configuration) },
        ]
        for use in uses {
            let error = await #expect(throws: MirrorError.self) { try await use() }
            #expect(error?.code == .usage)
            #expect(error?.message == says)
        }
    }

    static let runOptions: [(String, @Sendable (inout RunOptions) -> Void)] = [
        ("deadline is -1; 0 is the least.", { $0.deadline = .seconds(-1) }),
        ("maxStale is -1; 0 is the least.", { $0.maxStale = .seconds(-1) }),
        ("maxDelete is -1; 0 is the least.", { $0.maxDelete = .count(-1) }),
        ("maxDelete is 101; 100 is the most.", { $0.maxDelete = .percent(101) }),
        (
            "permission.budget.bytes is -5; 0 is the least.",
            { $0.permission.budget = TransferBudget(bytes: -5, period: .day) }
        ),
    ]

    @Test(arguments: runOptions.indices)
    func runOptionsOutOfRangeAreRefused(_ number: Int) async throws {
        let (says, change) = Self.runOptions[number]
        var options = RunOptions()
        change(&options)
        let rig = try SessionRig()
        let manifest = Manifest(name: "m", resources: [try rig.resource("Caches/a", [1])])
        let error = await #expect(throws: MirrorError.self) {
            try await rig.session.sync(manifest, options: options)
        }
        #expect(error?.code == .usage)
        #expect(error?.message == says)
        #expect(rig.folder.names().isEmpty)
        let run = rig.session.execute(try await rig.session.plan(manifest), options: options)
        let thrown = await #expect(throws: MirrorError.self) { for try await _ in run {} }
        #expect(thrown?.message == says)
        #expect(rig.folder.names().isEmpty)
    }

    static let planOptions: [(String, @Sendable (inout PlanOptions) -> Void)] = [
        ("quota is -1; 0 is the least.", { $0.quota = -1 }),
        ("keepTmp is -1; 0 is the least.", { $0.keepTmp = .seconds(-1) }),
        ("keepParts is -1; 0 is the least.", { $0.keepParts = .seconds(-1) }),
    ]

    @Test(arguments: planOptions.indices)
    func planOptionsOutOfRangeAreRefused(_ number: Int) async throws {
        let (says, change) = Self.planOptions[number]
        var options = PlanOptions()
        change(&options)
        let rig = try SessionRig()
        let manifest = Manifest(name: "m", resources: [try rig.resource("Caches/a", [1])])
        let error = await #expect(throws: MirrorError.self) {
            try await rig.session.plan(manifest, options: options)
        }
        #expect(error?.message == says)
    }

    @Test func aQuotaBelowNothingEvictsNothing() async throws {
        let rig = try SessionRig()
        let manifest = Manifest(name: "m", resources: [try rig.resource("Caches/a", [1])])
        try await rig.session.sync(manifest)
        let error = await #expect(throws: MirrorError.self) {
            try await CacheEviction(toQuota: -1).carryOut(in: rig.session)
        }
        #expect(error?.message == "quota is -1; 0 is the least.")
        #expect(rig.bytes("Caches/a") == [1])
    }
}
