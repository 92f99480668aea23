internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// What a run did with each resource, a line of JSON each: `.mirror/runs/<run>.jsonl`.
///
/// The log explains decisions to people. No decision depends on it, so it is not flushed. A crash
/// may cut off a line, and a full disk ends only the log. A run that does nothing makes no log.
struct RunLog: ~Copyable {
    /// How many runs keep their logs.
    static let mostRuns = 30
    /// Bytes after which a run's log takes no more lines.
    static let longest: Int64 = 64 << 20

    private static let folder = ".mirror/runs"
    /// The number of bytes that are read at once, and that are gathered before they are written.
    static let chunk = 64 << 10

    private let root: RootDirectory
    private let name: String
    private var file: Descriptor?
    private var length: Int64 = 0
    private var isOver = false

    /// A log of a run, which is made with its first line.
    init(of run: String, in root: RootDirectory) {
        self.root = root
        name = run + ".jsonl"
    }

    /// Removes the logs of all runs but the latest.
    mutating func close() {
        guard file != nil else { return }
        let names = (try? RunLog.names(in: root)) ?? []
        guard let folder = try? root.openFolder(RunLog.folder) else { return }
        for name in names.dropLast(RunLog.mostRuns) { unlinkat(folder.number, name, 0) }
    }

    /// Adds lines with their line breaks.
    mutating func add(_ lines: [UInt8]) {
        guard !isOver, !lines.isEmpty else { return }
        do throws(Errno) {
            let file: Descriptor
            if let open = self.file { file = open } else { file = try RunLog.make(name, in: root) }
            self.file = file
            try file.write(lines, at: length, path: name)
            length += Int64(lines.count)
            isOver = length >= RunLog.longest
        } catch {
            isOver = true
        }
    }

    private static func make(_ name: String, in root: RootDirectory) throws(Errno) -> Descriptor {
        let folder = try root.makeFolder(RunLog.folder)
        return Descriptor(
            owning: try retrying("openat", name) {
                let flags = O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC
                // Paths and sources are for the owner of the tree only.
                return linux_openat(folder.number, name, flags, 0o600)
            })
    }

    /// The names of all logs, the earliest run first; names of runs sort by time.
    private static func names(in root: RootDirectory) throws(Errno) -> [String] {
        let folder = try root.openFolder(RunLog.folder)
        return try folder.names(path: RunLog.folder, containing: ".jsonl").sorted()
    }
}

extension RunLog {
    /// Passes the whole lines of a run's log to the body; returns how many bytes were read.
    ///
    /// A log that is not there, or that cannot be read to its end, has fewer lines.
    @discardableResult
    static func forEachLine(
        of run: String, in root: RootDirectory, _ body: (ArraySlice<UInt8>) -> Void
    ) -> Int64 {
        let path = RunLog.folder + "/" + run + ".jsonl"
        guard let file = try? root.openFile(path) else { return 0 }
        var rest: [UInt8] = []
        var at: Int64 = 0
        while at <= RunLog.longest,
            let bytes = try? file.bytes(at: at, count: RunLog.chunk, path: path), !bytes.isEmpty
        {
            at += Int64(bytes.count)
            rest += bytes
            guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { continue }
            for line in rest[..<end].split(separator: UInt8(ascii: "\n")) { body(line) }
            rest.removeSubrange(...end)
        }
        return at
    }
}
