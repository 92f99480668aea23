import ArgumentParser
import MirrorKit

/// `mirror serve`: serves the tree over HTTP, for offline use and for other machines.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve the tree over HTTP.",
        discussion: """
            Serves the files that mirror put into the tree: by their paths, and by their digests as \
            /cas/SHA256. ETags are digests, ranges are answered, folders have listings (JSON with \
            Accept: application/json). It takes no lock, and shows what a sync beside it promotes. \
            The first line on standard output is the URL.

            There is no authentication and no encryption, so it listens on loopback unless another \
            address is given.

            EXAMPLES:
              mirror serve
              mirror serve --listen 127.0.0.1:0    any free port
              mirror serve --listen 0.0.0.0:8080   other machines too
            """)

    @Option(
        help: ArgumentHelp(
            "Address and port; port 0 is any free one, 0.0.0.0 every address of this machine.",
            valueName: "address"))
    var listen = ListenAddress()

    @OptionGroup var root: RootOptions

    @Flag(name: .shortAndLong, help: .quiet) var quiet = false

    func run() async throws {
        let session = try MirrorSession(root: root.root)
        if !listen.isLoopback, !quiet {
            Console.error.line(
                "mirror: warning: \(listen) can be reached from other machines, and there is no authentication: whoever reaches it reads the tree."
            )
        }
        CommandStage.enter(.serving)
        try await TreeServer.serve(session, at: listen) { url in
            Console.output.line(url)
        } onNote: { note in
            Console.error.line("mirror: note: \(note.printable)")
        }
        if let code = Interruption.exitCode { throw ExitCode(code) }
    }
}
