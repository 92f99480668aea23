internal import MirrorTestSupport

/// Targets that a shelf serves under their own paths, with every version that it served.
struct ServedTree {
    let shelf = MemoryShelf()
    /// The versions of each target, the last one at the end.
    private(set) var versions: [String: [[UInt8]]] = [:]

    /// Puts a version of a target on the shelf.
    mutating func publish(_ target: String, _ bytes: [UInt8]) {
        versions[target, default: []].append(bytes)
        shelf.put("/" + target, bytes)
    }

    /// A manifest of some of the targets, each with further keys as JSON, e.g. `,"refresh":"1h"`.
    func manifest(
        named name: String, at url: String, _ targets: [String],
        keys: (String) -> String = { _ in "" }
    ) -> String {
        let resources = targets.map { "{\"path\":\"\($0)\",\"url\":\"\($0)\"\(keys($0))}" }
        return "{\"name\":\"\(name)\",\"base\":\"\(url)/\",\"resources\":["
            + resources.joined(separator: ",") + "]}"
    }

    /// What in a tree is no version that was served; `known` are other bytes that may be there.
    func foreign(in tree: [String: [UInt8]], known: [[UInt8]] = []) -> [String] {
        tree.sorted { $0.key < $1.key }.compactMap { name, bytes in
            let target = ServedTree.target(ofConflict: name)
            if (versions[target] ?? []).contains(bytes) || known.contains(bytes) { return nil }
            return "\(name) is no version that was served: \(bytes.count) bytes"
        }
    }

    /// Which targets are not their last version.
    func outdated(in root: Folder, _ targets: [String]) -> [String] {
        targets.filter { root.read($0) != versions[$0]?.last }.map {
            "\($0) is not the last version"
        }
    }

    /// The target that a conflict name stands beside; any other name is itself.
    private static func target(ofConflict name: String) -> String {
        let parts = name.split(separator: ".mirror-conflict-", maxSplits: 1)
        guard parts.count == 2 else { return name }
        let rest = parts[1].split(separator: ".", maxSplits: 1)
        return String(parts[0]) + (rest.count == 2 ? "." + String(rest[1]) : "")
    }
}
