internal import MirrorTestSupport

/// Many requests to addresses at which connections end, or change their protocol: each file gets its
/// own bytes, and all are there in the end.
enum MixedTorture: TortureClass {
    static let name = "R22"
    static let title = "HTTP/2 and HTTP/1.1 at one address"
    static let trials = 240

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        guard MixedFront.isPossible else { return Tally(notRun: "nginx or haproxy is missing") }
        var tally = Tally()
        var files = 0
        var random = SplitMix64(seed: seed)
        for number in 0..<trials {
            let trial = MixedTrial(number, of: trials, seed: random.next())
            files += trial.count
            tally.count("\(trial)", try trial.wrong(program: program))
        }
        tally.notes.append("\(files) files in \(trials) roots")
        if !OddOrigin.isPossible {
            tally.notes.append("python3-h2 is missing: nothing reset a stream or went away")
        }
        return tally
    }
}

/// One root, and two runs over it: a first one, and one after half of the files have changed.
private struct MixedTrial: CustomStringConvertible {
    enum Kind: CaseIterable {
        case unpinned, pinned, segments, many, required, away
    }

    private let kind: Kind
    private let firstSpeaksHTTP2: Bool
    private let requests: Int
    private let seed: UInt64
    let count: Int

    init(_ number: Int, of trials: Int, seed: UInt64) {
        let kinds = OddOrigin.isPossible ? Kind.allCases : [.unpinned, .pinned, .segments, .many]
        kind = kinds[number % kinds.count]
        firstSpeaksHTTP2 = number / kinds.count % 2 == 0
        requests = [3, 40, 1000][number / kinds.count % 3]
        self.seed = seed
        count =
            switch kind {
            case .unpinned, .pinned: [20, 200, 600][number / kinds.count % 3]
            case .segments: 6
            case .many: trials < MixedTorture.trials ? 300 : 2000
            case .required, .away: 60
            }
    }

    var description: String {
        "seed \(seed): \(kind), \(count) files, \(requests) requests a connection, "
            + (firstSpeaksHTTP2 ? "HTTP/2 first" : "HTTP/1.1 first")
    }

    func wrong(program: String) throws -> [String] {
        switch kind {
        case .required: try odd(.first, program)
        case .away: try odd(.away, program)
        case .unpinned, .pinned, .segments, .many: try mixed(program)
        }
    }

    private func bytes(_ number: Int, version: UInt64) -> [UInt8] {
        let size = kind == .segments ? 3_000_000 + number : 3000
        return TestBytes.make(size, seed: seed &+ UInt64(number) << 8 &+ version)
    }

    private func mixed(_ program: String) throws -> [String] {
        let front = try MixedFront(requests: requests)
        defer { front.stop() }
        try front.balance(firstSpeaksHTTP2: firstSpeaksHTTP2)
        let ground = try Playground(program: program, in: Folder.memory)
        defer { ground.remove() }
        var wrong: [String] = []
        for version: UInt64 in 0...1 {
            var contents: [String: [UInt8]] = [:]
            var resources: [String] = []
            for number in 0..<count {
                let bytes = bytes(number, version: number % 2 == 0 ? version : 0)
                contents["Caches/\(number)"] = bytes
                try front.put("\(number)", bytes, modified: 1_500_000_000 + Int(version) * 60)
                let pin = kind == .pinned ? ",\"sha256\":\"\(Checksum.sha256(bytes))\"" : ""
                resources.append(
                    "{\"path\":\"Caches/\(number)\",\"url\":\"\(front.url)/\(number)\"\(pin)}")
            }
            let options = kind == .segments ? ["--segments", "4"] : []
            wrong += try run(ground, resources, front.certificate, options, expect: contents)
        }
        return wrong
    }

    private func odd(_ ending: OddOrigin.Ending, _ program: String) throws -> [String] {
        let origin = try OddOrigin()
        defer { origin.stop() }
        let ground = try Playground(program: program, in: Folder.memory)
        defer { ground.remove() }
        let contents = Dictionary(
            uniqueKeysWithValues: (0..<count).map {
                ("Caches/\($0)", origin.bytes(ending, "\($0)"))
            })
        let resources = (0..<count).map {
            "{\"path\":\"Caches/\($0)\",\"url\":\"\(origin.url(ending, "\($0)"))\"}"
        }
        return try run(ground, resources, origin.certificate, [], expect: contents)
    }

    private func run(
        _ ground: Playground, _ resources: [String], _ certificate: String, _ options: [String],
        expect contents: [String: [UInt8]]
    ) throws -> [String] {
        let manifest = try ground.write(
            manifest: "{\"name\":\"m\",\"resources\":[\(resources.joined(separator: ","))]}")
        let run = try ground.sync(manifest, ["--cacert", certificate] + options).wait()
        let tree = ground.tree()
        let names = contents.keys.filter { tree[$0] != nil && tree[$0] != contents[$0] }
        var wrong = run.unless(0, "the run")
        if !names.isEmpty { wrong.append("\(names.count) files hold wrong bytes, as \(names[0])") }
        if tree.count != contents.count { wrong.append("\(tree.count) files are there") }
        return wrong
    }
}
