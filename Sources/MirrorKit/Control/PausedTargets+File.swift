internal import Glibc
internal import MirrorManifests
internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

extension PausedTargets {
    private static let name = ".mirror/paused.json"
    private static let longest = 16 << 20

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

    func write(toRoot root: String) throws {
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
