internal import Glibc
internal import MirrorManifests
internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

extension PausedTargets {
    private static let name = ".mirror/paused.json"
    private static let longest = 16 << 20

    /// What is paused at a place; nothing where there is no root.
    init(at location: RootLocation) throws {
        if let root = try location.openIfThere() {
            try self.init(in: root)
        } else {
            self.init()
        }
    }

    /// Reads what is paused, and writes it as the body changes it, while nobody else does. Blocks the
    /// calling thread.
    static func change<Value>(
        at location: RootLocation, _ change: (inout PausedTargets) -> Value
    ) throws -> Value {
        try ReplacedFile.changing(in: location.path + "/.mirror") {
            let before = try PausedTargets(at: location)
            var paused = before
            let value = change(&paused)
            if paused != before { try paused.write(toRoot: location.path) }
            return value
        }
    }

    init(in root: RootDirectory) throws {
        self.init()
        let path = root.path + "/" + PausedTargets.name
        let bytes: [UInt8]
        do throws(Errno) {
            let file = try root.openFile(PausedTargets.name)
            bytes = try file.bytes(at: 0, count: PausedTargets.longest, path: path)
        } catch {
            if error.number == ENOENT { return }
            throw MirrorError(error)
        }
        guard let tree = try? JSONTree(bytes, file: path) else {
            throw MirrorError(
                .inputOutput,
                "\(path): this file is no JSON, so it is not known what is paused. Remove it to resume everything."
            )
        }
        all = tree["all"]?.bool ?? false
        targets = Set(
            (tree["targets"]?.elements ?? []).compactMap { $0.string.flatMap { try? Target($0) } })
    }

    private func write(toRoot root: String) throws {
        let path = root + "/" + PausedTargets.name
        guard !isEmpty else {
            if unlink(path) != 0, errno != ENOENT {
                throw MirrorError(Errno(number: errno, call: "unlink", path: path))
            }
            return
        }
        var json = JSONWriter(indentation: 2)
        json.object { json in
            json.member("v", 1)
            json.member("all", all)
            json.member("targets", targets.sorted().map(\.path))
        }
        json.newline()
        try ReplacedFile.write(json.take(), to: path)
    }
}
