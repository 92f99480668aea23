/// A folder with a root in it, and the built program to run there.
public struct Playground: Sendable {
    /// The folder; what is not part of the tree lies here.
    public let folder: Folder
    /// The root.
    public let root: Folder
    private let program: String

    /// Makes an empty root below a new folder, or takes another place for it.
    public init(program: String, root: String? = nil, in parent: String = "/tmp") throws {
        folder = try Folder.temporary(in: parent)
        self.root = Folder(root ?? folder.full("root"))
        self.program = program
        if root == nil { try folder.makeFolders(above: "root/.") }
    }

    private init(folder: Folder, root: Folder, program: String) {
        (self.folder, self.root, self.program) = (folder, root, program)
    }

    /// The same with another folder for its root.
    package func with(root: Folder) -> Playground {
        Playground(folder: folder, root: root, program: program)
    }

    /// Writes a manifest beside the root; gives its path.
    public func write(manifest: String, as name: String = "manifest.json") throws -> String {
        try folder.write(name, Array(manifest.utf8))
        return folder.full(name)
    }

    /// Starts the program.
    public func start(_ arguments: String...) throws -> Command { try start(arguments) }

    /// Starts the program, or a tool that starts it: the tool's path and its words.
    public func start(_ arguments: [String], under tool: [String] = []) throws -> Command {
        let words = tool + [program] + arguments
        return try Command(
            words[0], Array(words.dropFirst()),
            environment: [
                "MIRROR_ROOT": root.path, "HOME": folder.path, "PATH": "/usr/bin:/bin",
                "LANG": "C.UTF-8",
            ])
    }

    /// Whether the root's lock names a run as the last that held it.
    package func isLockNaming(_ run: Command) -> Bool {
        let lines = (root.read(".mirror/lock") ?? []).split(separator: UInt8(ascii: "\n"))
        return lines.count > 1 && lines[1].elementsEqual(String(run.pid).utf8)
    }

    /// Starts `sync --json` of a manifest.
    public func sync(
        _ manifest: String, _ options: [String] = [], adding more: [String: String] = [:]
    ) throws -> Command {
        let environment = ["MIRROR_ROOT": root.path, "HOME": folder.path, "LANG": "C.UTF-8"]
        return try Command(
            program, ["sync", manifest, "--json"] + options,
            environment: environment.merging(more) { $1 })
    }

    /// The files of the tree by their paths, without parts and what mirror keeps for itself.
    public func tree() -> [String: [UInt8]] {
        var tree: [String: [UInt8]] = [:]
        for entry in root.entries()
        where !entry.isFolder && !entry.name.hasPrefix(".mirror/")
            && !(entry.name.hasPrefix("tmp/") && (entry.name + "/").contains(".part/"))
        {
            tree[entry.name] = root.read(entry.name)
        }
        return tree
    }

    /// The parts.
    public func parts() -> [String] {
        root.entries().map(\.name).filter { $0.hasPrefix("tmp/") && $0.hasSuffix(".part") }
    }

    /// Makes the root empty.
    package func clear() throws {
        root.remove()
        try folder.makeFolders(above: "root/.")
    }

    /// Deletes it all.
    public func remove() { folder.remove() }
}

extension Command.Result {
    /// The events that were printed, one a line.
    public var events: [JSONValue] { output.split(separator: "\n").compactMap { JSONValue($0) } }

    /// The last event, which says how the run went.
    public var summary: JSONValue? {
        guard let line = output.split(separator: "\n").last, let event = JSONValue(line),
            event["event"] == .string("summary")
        else { return nil }
        return event
    }

    /// A field of the summary as a word.
    public func summary(_ field: String) -> String? { summary?[field]?.word }
}
