import ArgumentParser
import Glibc
import MirrorKit

/// `mirror report`: writes one page about the tree, its sources and its runs.
struct ReportCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Write a page about the tree.",
        discussion: """
            The page is one HTML file that loads nothing and needs no JavaScript: what is in the \
            tree, freshness, what each host honours, failures with what helps, the last run's \
            transfers over time, and history. No server is asked, and only files are read whose times \
            or inodes are new; a manifest with a URL is the copy of its last sync. A sync may go on \
            meanwhile.

            EXAMPLES:
              mirror report
              mirror report --open
              mirror report -o maps.html
              mirror report --json | jq -r '.hosts[] | select(.ranges == "refused") | .host'
            """)

    @Argument(help: ManifestArguments.help, completion: .file()) var manifests: [String] = []

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "Where the page goes; report.html by default, - for standard output.", valueName: "path"
        ), completion: .file())
    var destination: String?

    @Flag(help: "Open the page in a browser, by xdg-open.") var open = false

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup var network: NoNetworkOptions
    @OptionGroup(title: "Output") var output: ResultOptions

    func validate() throws {
        if output.json, destination != nil || open {
            throw ValidationError(
                "--json writes the facts and no page. Leave out -o and --open.")
        }
        if destination == "-", open {
            throw ValidationError("A page on standard output cannot be opened. Use -o FILE.")
        }
    }

    func run() async throws {
        let session = try root.session()
        let path = destination ?? "report.html"
        if path != "-", !output.json { try refuseOwnFile(path, amongFilesOf: session.root) }
        let manifests = try await ManifestArguments(locations: manifests, lists: lists)
            .look(in: session)
        CommandStage.enter(.lookingAtTree)
        let report = try await TreeReport(of: session, on: manifests)
        if output.json {
            Console.output.json { report.write(to: &$0) }
        } else {
            let page = ReportPage(report: report, clock: .ofThisProcess(now: report.madeAt)).html()
            if path == "-" {
                Console.output.write(bytes: page)
            } else {
                try ReplacedFile.write(page, to: path)
                show(path, report)
            }
        }
    }

    private func show(_ path: String, _ report: TreeReport) {
        if !output.quiet {
            let files = Counted(report.totals.files, "file")
            let runs = Counted(report.runs.count, "run")
            Console.output.line("\(path.printable): a page about \(files) and \(runs).")
        }
        guard open, let reason = ReportCommand.openInBrowser(path) else { return }
        Console.error.line("mirror: warning: \(path.printable): \(reason)")
    }
}

// MARK: The browser

extension ReportCommand {
    /// The program that shows a page in a browser.
    ///
    /// xdg-open passes the page to a browser and ends, or becomes the process of the browser.
    private static let opener = "xdg-open"
    /// Milliseconds in which the program may fail. After this time, the page counts as shown.
    private static let patience = 2000

    /// Opens a file in a browser.
    ///
    /// Returns a sentence that says why the file cannot be opened. Returns nil if it was opened.
    private static func openInBrowser(_ path: String) -> String? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        // The browser's messages go to /dev/null. The browser may outlive this program, and would write
        // into the user's terminal.
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        var pid = pid_t()
        let number = Hook.start([opener, path], &actions, Hook.variables(), &pid)
        if number == ENOENT {
            return "\(opener) is not here, so the page was not opened. Open it in a browser."
        }
        guard number == 0 else {
            return "\(opener) cannot be started: \(String(cString: strerror(number)))."
        }
        for _ in 0..<(patience / 10) {
            var status: Int32 = 0
            guard waitpid(pid, &status, WNOHANG) == pid else {
                usleep(10_000)
                continue
            }
            return status == 0
                ? nil : "\(opener) could not open the page. Open it in a browser."
        }
        return nil
    }
}
