internal import Glibc
internal import MirrorTestSupport

/// Hostile names from manifests, URLs and servers: nothing outside the root changes.
enum NameTorture: TortureClass {
    static let name = "R8"
    static let title = "hostile names (targets, URL segments, Content-Disposition)"
    static let trials = 10_000

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        var tally = Tally()
        let names = HostileNames.all.spread(max(1, trials / 3))
        let server = try OriginServer(responder: NamingOrigin(names))
        defer { server.stop() }
        let ground = try NameGround(program: program)
        defer { ground.end() }
        for (number, name) in names.enumerated() {
            for area in [["Caches/", "Documents/", "tmp/", ""][number % 4]] {
                tally.count(
                    "target \(JSONText.quoted(area + name).prefix(120))",
                    try ground.wrong(
                        "{\"url\":\"\(server.url)/d/-\",\"path\":\(JSONText.quoted(area + name))}"))
            }
            tally.count(
                "URL segment \(JSONText.quoted(name).prefix(120))",
                try ground.wrong("{\"url\":\(JSONText.quoted(server.url + "/d/" + name))}"))
            tally.count(
                "Content-Disposition \(JSONText.quoted(name).prefix(120))",
                try ground.wrong(
                    "{\"url\":\"\(server.url)/n/\(number)\",\"path\":\"Caches/d/\"}"))
        }
        tally.notes.append(
            "\(ground.promoted) names promoted inside the root, the rest was refused")
        tally.notes.append(
            ground.isWatched
                ? "strace saw \(ground.changes) changes of paths, \(ground.straying) of them outside the root"
                : "without strace")
        return tally
    }
}

/// Answers `/n/NUMBER` with a suggested name, in the plain form and the extended one in turn.
private struct NamingOrigin: Responder {
    let names: [String]

    init(_ names: [String]) { self.names = names }

    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        let number = request.path.hasPrefix("/n/") ? Int(request.path.dropFirst(3)) : nil
        var header = ""
        if let number, names.indices.contains(number) {
            // A line end would begin another header: what is left of the name is still hostile.
            let plain = names[number].unicodeScalars.filter { $0.value >= 0x20 || $0 == "\t" }
            let name = String(String.UnicodeScalarView(plain))
            header =
                number % 2 == 0
                ? "Content-Disposition: attachment; filename=\"\(name)\"\r\n"
                : "Content-Disposition: attachment; filename*=UTF-8''\(encoded(names[number]))\r\n"
        }
        return connection.send(
            Array("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\(header)\r\nx".utf8))
    }

    private func encoded(_ name: String) -> String {
        name.utf8.map { byte in
            let digits = String(byte, radix: 16)
            return "%" + (digits.count < 2 ? "0" : "") + digits
        }.joined()
    }
}

/// A root with a neighbour that a way up would reach, and links inside that lead there.
private final class NameGround {
    private let ground: Playground
    /// What strace writes lies elsewhere, so that it does not count as a change.
    private let logs: Folder
    let isWatched = WriteWatch.isPossible
    private(set) var promoted = 0
    private(set) var changes = 0
    private(set) var straying = 0
    private var seen = 0

    init(program: String) throws {
        ground = try Playground(program: program, in: Folder.memory)
        try ground.folder.write("outside/kept", Array("kept".utf8))
        try ground.folder.write("manifest", [])
        logs = try Folder.temporary(in: Folder.memory)
        try prepare()
    }

    func end() {
        ground.remove()
        logs.remove()
    }

    /// An empty tree but for links that lead out of it.
    private func prepare() throws {
        ground.root.remove()
        try ground.folder.makeFolders(above: "root/Caches/.")
        symlink("../../outside", ground.root.full("Caches/link"))
    }

    /// What a run of one resource did that it must not do.
    func wrong(_ resource: String) throws -> [String] {
        try prepare()
        let manifest = try ground.write(
            manifest: "{\"name\":\"n\",\"resources\":[\(resource)]}", as: "manifest")
        let result = try ground.start(
            ["sync", manifest, "--retries", "0", "--root", ground.root.path],
            under: isWatched ? WriteWatch.words(log: logs.full("log")) : []
        ).wait(seconds: 30)
        var wrong = strays()
        let outside = ground.folder.entries().map(\.name).filter {
            $0 != "root" && !$0.hasPrefix("root/")
        }
        if outside != ["manifest", "outside", "outside/kept"] {
            wrong.append("outside: \(outside)")
        }
        if ground.folder.read("outside/kept") != Array("kept".utf8) { wrong.append("kept changed") }
        let inside = ground.root.entries().map(\.name)
        let tops = Set(inside.map { String($0.split(separator: "/").first ?? "") })
        if !tops.isSubset(of: ["Documents", "Caches", "tmp", ".mirror"]) {
            wrong.append("in the root: \(tops)")
        }
        let own = inside.filter { $0.hasPrefix(".mirror/") && !LastingFiles.has($0) }
        if !own.isEmpty { wrong.append("in .mirror: \(own)") }
        switch result.ending {
        case .exited(0):
            promoted += 1
            if isWatched, seen == 0 { wrong.append("strace saw nothing") }
        case .exited(1), .exited(65), .exited(69): break
        default: wrong.append("\(result.ending): \(result.errors.prefix(200))")
        }
        return wrong
    }

    /// The changes outside the root that strace saw; how many there were in all is noted.
    private func strays() -> [String] {
        guard isWatched else { return [] }
        let log = String(decoding: logs.read("log") ?? [], as: UTF8.self)
        let seen = WriteWatch.changes(in: log)
        self.seen = seen.count
        changes += seen.count
        let strays = WriteWatch.strays(
            seen, root: ground.root.path, links: [ground.root.full("Caches/link")])
        straying += strays.count
        return strays
    }
}
