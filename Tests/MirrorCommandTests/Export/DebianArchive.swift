import MirrorTestSupport
import Testing

/// A Debian archive of one package, signed with a key that lives as long as its stage.
struct DebianArchive {
    /// The programs that make it and read it.
    static let programs = [
        "/usr/bin/dpkg-deb", "/usr/bin/gpg", "/usr/bin/apt-get", "/usr/bin/gpgconf",
    ]

    static let package = "pool/main/d/demo/demo_1.0_all.deb"

    /// Makes the origin of a stage serve the archive, with the suites `stable` and `updates`.
    static func open(at stage: SyncedStage) async throws {
        let folder = stage.ground.folder
        try folder.write(
            "demo/DEBIAN/control",
            Array(
                """
                Package: demo
                Version: 1.0
                Architecture: all
                Maintainer: A <a@example.org>
                Description: nothing

                """.utf8))
        try await run(stage, programs[0], "-b", folder.full("demo"), folder.full("demo.deb"))
        let package = try #require(folder.read("demo.deb"))
        stage.serve(package, at: Self.package)
        try await gpg(stage, "--quick-gen-key", "demo", "rsa2048", "sign", "never")
        try await gpg(stage, "--export", "--output", folder.full("key.gpg"))
        for suite in ["stable", "updates"] { try await open(suite, package, at: stage) }
        // gpg leaves an agent running.
        try await run(stage, programs[3], "--kill", "gpg-agent")
    }

    private static func open(
        _ suite: String, _ package: [UInt8], at stage: SyncedStage
    ) async throws {
        let plain = Array(
            """
            Package: demo
            Version: 1.0
            Architecture: all
            Maintainer: A <a@example.org>
            Filename: \(Self.package)
            Size: \(package.count)
            SHA256: \(Checksum.sha256(package))
            Description: nothing of \(suite)

            """.utf8)
        let index = Gzip.encode(plain)
        // Archives list the plain index too, and most do not have it.
        let name = "main/binary-amd64/Packages"
        stage.serve(index, at: "dists/\(suite)/\(name).gz")
        let folder = stage.ground.folder
        try folder.write(
            "\(suite).txt",
            Array(
                """
                Suite: \(suite)
                Codename: \(suite)
                Date: Sat, 10 Feb 2024 11:07:25 UTC
                Architectures: amd64
                Components: main
                SHA256:
                 \(Checksum.sha256(plain)) \(plain.count) \(name)
                 \(Checksum.sha256(index)) \(index.count) \(name).gz

                """.utf8))
        try await gpg(
            stage, "--clearsign", "--output", folder.full("\(suite).signed"),
            folder.full("\(suite).txt"))
        stage.serve(try #require(folder.read("\(suite).signed")), at: "dists/\(suite)/InRelease")
    }

    private static func gpg(_ stage: SyncedStage, _ words: String...) async throws {
        let result = try await stage.tool(
            programs[1],
            ["--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""] + words)
        try #require(result.ending == .exited(0), "\(result)")
    }

    private static func run(_ stage: SyncedStage, _ program: String, _ words: String...)
        async throws
    {
        let result = try await stage.tool(program, words)
        try #require(result.ending == .exited(0), "\(result)")
    }
}
