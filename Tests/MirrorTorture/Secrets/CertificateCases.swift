internal import Glibc
internal import MirrorTestSupport

/// Client certificates against nginx: each origin sees its own, and no other.
struct CertificateCases {
    private let nginx: Nginx
    private let ground: Playground

    init(program: String) throws {
        nginx = try Nginx()
        ground = try Playground(program: program, in: Folder.memory)
        try nginx.put("a.bin", TestBytes.make(300_000, seed: 3))
        try nginx.put("large.bin", TestBytes.make(24 << 20, seed: 4))
    }

    func end() {
        nginx.stop()
        ground.remove()
    }

    /// The keys of one resource each, and the options beside the certificate.
    private var stories: [(title: String, resource: String, options: [String])] {
        let (guarded, asking, plain) = (nginx.guarded, nginx.asking, nginx.url("http"))
        return [
            ("its own origin", "\"url\":\"\(guarded)/a.bin\"", []),
            ("a redirect to another origin", "\"url\":\"\(guarded)/away/x\"", []),
            ("a redirect from another origin", "\"url\":\"\(asking)/back/x\"", []),
            (
                "a mirror at another origin",
                "\"url\":\"\(guarded)/gone/x\",\"mirrors\":[\"\(asking)/a.bin\"]", []
            ),
            (
                "a mirror that the certificate is for",
                "\"url\":\"\(plain)/none\",\"mirrors\":[\"\(guarded)/a.bin\"]", []
            ),
            (
                "further connections", "\"url\":\"\(guarded)/large.bin\"", ["--segments", "4"]
            ),
            ("another origin alone", "\"url\":\"\(asking)/a.bin\"", []),
        ]
    }

    /// Runs each story, and counts it.
    func count(in tally: inout Tally) throws {
        for story in stories { tally.count("certificate: \(story.title)", try wrong(in: story)) }
    }

    private func wrong(
        in story: (title: String, resource: String, options: [String])
    ) throws -> [String] {
        ground.root.remove()
        try ground.folder.makeFolders(above: "root/.")
        let before = nginx.certificates(atLeast: 0).count
        let manifest = try ground.write(
            manifest: "{\"name\":\"c\",\"resources\":[{\"path\":\"Caches/x\",\(story.resource)}]}")
        let own = ["--cert", "\(nginx.guarded)=\(nginx.certificate)"]
        let key = ["--key", "\(nginx.guarded)=\(nginx.key)", "--cacert", nginx.certificate]
        let run = try ground.sync(manifest, own + key + ["--retries", "0"] + story.options).wait()
        var wrong: [String] = []
        if run.ending != .exited(0) { wrong.append("\(run.ending): \(run.errors.suffix(300))") }
        // nginx writes a line once its answer has gone.
        Pause.milliseconds(100)
        let seen = nginx.certificates(atLeast: before + 1).dropFirst(before)
        if seen.isEmpty { wrong.append("no request was seen") }
        for line in seen {
            let isOwn = line.hasPrefix(nginx.guarded + "/")
            if !line.hasSuffix(isOwn ? " SUCCESS" : " NONE") { wrong.append(line) }
        }
        // The key is in no output and no file of the root.
        let text = Folder(nginx.folder.path + "/..").read("key.pem") ?? []
        guard
            let secret = String(decoding: text, as: UTF8.self).split(separator: "\n")
                .dropFirst().first
        else { return wrong + ["the key cannot be read"] }
        if (run.output + run.errors).contains(secret) { wrong.append("the key is in the output") }
        for entry in ground.root.entries() where !entry.isFolder {
            let bytes = String(decoding: ground.root.read(entry.name) ?? [], as: UTF8.self)
            if bytes.contains(secret) { wrong.append("the key is in \(entry.name)") }
        }
        return wrong
    }
}
