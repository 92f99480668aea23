internal import Glibc
internal import MirrorTestSupport
internal import Synchronization

/// Two origins and a proxy that write down every byte they get, and a root.
struct SecretStage {
    private let wires: [(name: String, tap: Wiretap, server: OriginServer)]
    private let ground: Playground
    private let program: String
    private let seed: UInt64

    init(program: String, seed: UInt64) throws {
        self.program = program
        self.seed = seed
        let arguments = ArgumentWatch(seed: seed)
        let further = FurtherConnections()
        wires = try ["A", "B", "P"].map { name in
            let tap = Wiretap(
                name, arguments, further, cookie: Secret.cookie.value(seed))
            return (name, tap, try OriginServer(responder: tap))
        }
        ground = try Playground(program: program, in: Folder.memory)
    }

    func end() {
        for wire in wires { wire.server.stop() }
        ground.remove()
    }

    /// What a case gave away, or did not do.
    func wrong(in story: SecretCase) throws -> [String] {
        ground.root.remove()
        try ground.folder.makeFolders(above: "root/.")
        let netrc = "machine 127.0.0.1 login user password \(Secret.netrc.value(seed))\n"
        for name in ["netrc", ".netrc"] { try ground.folder.write(name, Array(netrc.utf8)) }
        try ground.folder.write("credentials/TOKEN", Array(Secret.token.value(seed).utf8))
        let text = filled(
            "{\"name\":\"s\",\"resources\":["
                + story.resources.enumerated().map {
                    "{\"path\":\"Caches/\($0.offset).bin\",\($0.element)}"
                }.joined(separator: ",") + "]}")
        for wire in wires {
            wire.tap.play(story.routes.mapValues(filled), manifest: text)
        }
        let file = try ground.write(manifest: text)
        let manifest = story.manifest.map(filled) ?? file
        let options = story.options.map(filled)
        var wrong: [String] = []
        for number in 1...2 {
            let run = try start(story, ["sync", manifest, "--retries", "0", "-v"] + options)
            if number == 1, run.ending != .exited(story.exit) {
                wrong.append("\(run.ending), not \(story.exit): \(run.errors.suffix(400))")
            }
            wrong += leaks(in: run, "sync")
        }
        wrong += wireFlaws(story)
        wrong += try leaksOfOtherVerbs(story, manifest, options)
        for entry in ground.root.entries() where !entry.isFolder {
            // The last good copy of a manifest is that manifest, with what its author wrote in it.
            if entry.name.hasPrefix(".mirror/manifests/") { continue }
            let bytes = ground.root.read(entry.name) ?? []
            wrong += leaks(in: bytes + Array(entry.name.utf8), entry.name)
        }
        return Array(Set(wrong)).sorted()
    }

    private func leaksOfOtherVerbs(
        _ story: SecretCase, _ manifest: String, _ options: [String]
    ) throws -> [String] {
        let network = ["plan", "status", "verify", "check"].flatMap {
            [[$0, manifest], [$0, manifest, "--json"]]
        }
        var wrong: [String] = []
        for words in network + [["sync", manifest, "--json", "--retries", "0", "--offline"]] {
            wrong += leaks(in: try start(story, words + options), words.joined(separator: " "))
            // Not every verb takes every option: once more without.
            wrong += leaks(in: try start(story, words), words.joined(separator: " "))
        }
        guard story.manifest == nil else { return wrong }
        wrong += leaks(in: try start(story, ["pin", manifest] + options), "pin")
        let out = ground.folder.full("out.xml")
        unlink(out)
        wrong += leaks(in: try start(story, ["convert", manifest, out]), "convert")
        // What the author wrote into URLs is part of the manifest; what the run was told is not.
        wrong += leaks(
            in: ground.folder.read("out.xml") ?? [], "the converted manifest",
            but: [.login, .query])
        return wrong
    }

    private func start(_ story: SecretCase, _ words: [String]) throws -> Command.Result {
        var environment = [
            "MIRROR_ROOT": ground.root.path, "HOME": ground.folder.path, "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8", "TOKEN": Secret.token.value(seed),
            "SECOND": Secret.second.value(seed),
        ]
        if story.hasCredentialsFolder {
            environment["TOKEN"] = nil
            environment["CREDENTIALS_DIRECTORY"] = ground.folder.full("credentials")
        }
        environment.merge(story.environment.mapValues(filled)) { $1 }
        return try Command(program, words, environment: environment).wait()
    }

    private func filled(_ text: String) -> String {
        var text = text
        for wire in wires {
            text = text.replacing("%\(wire.name)%", with: wire.server.url)
            text = text.replacing("%\(wire.name.lowercased())%", with: wire.server.authority)
        }
        for secret in Secret.allCases {
            text = text.replacing("%\(secret.rawValue)%", with: secret.value(seed))
        }
        return text.replacing("%port%", with: "\(wires[0].server.port)")
            .replacing("%DIR%", with: ground.folder.path)
    }

    private func leaks(in run: Command.Result, _ verb: String) -> [String] {
        var wrong = leaks(in: Array((run.output + run.errors).utf8), "the output of \(verb)")
        if case .exited = run.ending {} else { wrong.append("\(verb): \(run.ending)") }
        return wrong
    }

    private func leaks(
        in bytes: [UInt8], _ place: String, but allowed: Set<Secret> = []
    ) -> [String] {
        Secret.allCases.filter { !allowed.contains($0) && $0.isIn(bytes, seed) }.map {
            "the \($0.rawValue) is in \(place)"
        }
    }

    /// Secrets on wires that they do not belong to, and those that did not come where they belong.
    private func wireFlaws(_ story: SecretCase) -> [String] {
        let requests = wires.flatMap { $0.tap.requests }
        var wrong = wires.flatMap { $0.tap.exposed }.map { "an argument list has the \($0)" }
        for secret in Secret.allCases {
            let places = story.seen[secret] ?? []
            let found = Set(requests.filter { secret.isIn($0.bytes, seed) }.map(\.place))
            let other = secret == .cookie ? places.union(story.placesWithCookies) : places
            wrong += found.subtracting(other).map { "the \(secret.rawValue) was sent to \($0)" }
            wrong += places.subtracting(found).map { "the \(secret.rawValue) never came to \($0)" }
        }
        return wrong
    }
}

extension SecretCase {
    /// Where a redirect leads within one origin: its cookie may go along, and no further.
    fileprivate var placesWithCookies: Set<String> {
        var places: Set<String> = []
        for (place, reply) in routes where reply.hasPrefix("3") {
            let wire = place.prefix(1)
            var location = String(reply.dropFirst(4).prefix { $0 != "?" })
            for origin in ["%\(wire)%", "HTTP://%\(wire.lowercased())%"]
            where location.hasPrefix(origin) { location = String(location.dropFirst(origin.count)) }
            if location.hasPrefix("/") { places.insert("\(wire) \(location)") }
        }
        return places
    }
}

extension Secret {
    fileprivate func isIn(_ bytes: [UInt8], _ seed: UInt64) -> Bool {
        forms(seed).contains { bytes.has(Array($0.utf8)) }
    }
}

extension [UInt8] {
    /// Whether the bytes hold others: by memchr(3), since files are searched for many secrets.
    fileprivate func has(_ pattern: [UInt8]) -> Bool {
        withUnsafeBytes { all in
            var rest = all[...]
            while rest.count >= pattern.count, let first = pattern.first,
                let start = all.baseAddress.map({ $0 + rest.startIndex }),
                let hit = memchr(start, Int32(first), rest.count)
            {
                rest = rest.dropFirst(UnsafeRawPointer(hit) - UnsafeRawPointer(start))
                if rest.count >= pattern.count, memcmp(hit, pattern, pattern.count) == 0 {
                    return true
                }
                rest = rest.dropFirst()
            }
            return false
        }
    }
}

/// A server that answers by a table and keeps all that it was sent.
private final class Wiretap: Responder {
    private struct State {
        var routes: [String: String] = [:]
        var manifest = ""
        var requests: [(place: String, bytes: [UInt8])] = []
        var exposed: Set<String> = []
    }

    private let name: String
    private let arguments: ArgumentWatch
    private let further: FurtherConnections
    private let cookie: String
    private let state = Mutex(State())

    init(
        _ name: String, _ arguments: ArgumentWatch, _ further: FurtherConnections, cookie: String
    ) {
        self.name = name
        self.arguments = arguments
        self.further = further
        self.cookie = cookie
    }

    func play(_ routes: [String: String], manifest: String) {
        state.withLock { $0 = State(routes: routes, manifest: manifest) }
        further.hasCome.store(false, ordering: .relaxed)
    }

    /// What was asked, as wire and path, and all bytes of it.
    var requests: [(place: String, bytes: [UInt8])] { state.withLock { $0.requests } }
    /// Secrets in the argument list of any process while a request was answered.
    var exposed: Set<String> { state.withLock { $0.exposed } }

    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        var path = request.path
        if path.hasPrefix("http://") {
            path = "/" + path.dropFirst(7).split(separator: "/", maxSplits: 1).dropFirst().joined()
        }
        let plain = path.split(separator: "?").first.map(String.init) ?? path
        let range = request.value(of: "Range")
        let exposed = arguments.look()
        let (reply, manifest) = state.withLock { state in
            state.requests.append(("\(name) \(plain)", request.head + request.body))
            state.exposed.formUnion(exposed)
            let ranged = range == nil ? nil : state.routes["\(name) \(plain) range"]
            let reply =
                ranged ?? state.routes["\(name) \(path)"] ?? state.routes["\(name) \(plain)"]
            return (reply, state.manifest)
        }
        if range != nil { further.hasCome.store(true, ordering: .relaxed) }
        if reply == "large" { return sendLarge(range, connection) }
        let body = plain == "/m" ? Array(manifest.utf8) : Array("bytes of the file".utf8)
        let words = (reply ?? (plain == "/m" ? "200" : "404")).split(separator: " ", maxSplits: 1)
        return send(String(words[0]), words.count > 1 ? String(words[1]) : nil, body, connection)
    }

    /// The large file, or the range of it that was asked for. The whole of it waits in its midst for a
    /// further connection, whose request may take a while to come.
    private func sendLarge(_ range: String?, _ connection: Connection) -> Bool {
        let bytes = SecretCase.large
        if let range, let asked = RangeHeader(range, of: bytes.count) {
            let head = ["HTTP/1.1 206 Partial Content"] + asked.headers + ["", ""]
            return connection.send(Array(head.joined(separator: "\r\n").utf8))
                && connection.send(bytes[asked.bytes])
        }
        let head = ["HTTP/1.1 200 OK", "Content-Length: \(bytes.count)", "", ""]
        guard connection.send(Array(head.joined(separator: "\r\n").utf8)),
            connection.send(bytes[..<1_000_000])
        else { return false }
        for _ in 1...100 where !further.hasCome.load(ordering: .relaxed) {
            guard connection.pause(milliseconds: 50) else { return false }
        }
        return connection.send(bytes[1_000_000...])
    }

    private func send(
        _ kind: String, _ location: String?, _ body: [UInt8], _ connection: Connection
    ) -> Bool {
        var answer = WireAnswer(
            status: "HTTP/1.1 \(Int(kind) ?? 200) Word",
            fields: ["ETag: \"v1\"", "Set-Cookie: k=\(cookie); Path=/"], body: body)
        if let location { answer.set("Location", location) }
        switch kind {
        case "401":
            answer.fields += ["Basic realm=\"x\"", "Digest realm=\"x\", nonce=\"n\"", "Negotiate"]
                .map { "WWW-Authenticate: \($0)" }
        case "407": answer.set("Proxy-Authenticate", "Basic realm=\"x\"")
        case "cut": answer.cut(at: 3, .reset)
        case "html": answer.set("Content-Type", "text/html")
        case "gzip": answer.set("Content-Encoding", "gzip")
        case "garbage": answer.raw = Array("SSH-2.0-OpenSSH\r\n".utf8)
        default: break
        }
        guard connection.send(answer.bytes) else { return false }
        if answer.ending == .reset { connection.reset() }
        return answer.ending == .open && answer.raw == nil
    }
}

/// Whether a request for a range has come to any of the wires.
private final class FurtherConnections: Sendable {
    let hasCome = Atomic(false)
}

/// Looks for secrets in the argument lists of all processes (proc(5)).
private struct ArgumentWatch: Sendable {
    let seed: UInt64

    /// The secrets that are there.
    func look() -> [String] {
        let processes = Folder("/proc")
        guard let stream = opendir(processes.path) else { return [] }
        defer { closedir(stream) }
        var found: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard Int(name) != nil, let words = processes.read(name + "/cmdline") else { continue }
            found += Secret.allCases.filter { $0.isIn(words, seed) }.map(\.rawValue)
        }
        return found
    }
}
