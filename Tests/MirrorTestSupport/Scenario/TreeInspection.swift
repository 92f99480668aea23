internal import Glibc

/// Compares a tree with what is expected of it.
///
/// The list is complete: a file, or a part, that it does not name is a complaint. What mirror keeps
/// for itself below `.mirror/` is not looked at.
struct TreeInspection {
    /// What lstat(2) said of each file at some time.
    struct Stamp: Equatable {
        let inode: UInt64
        let seconds: Int
        let nanoseconds: Int
    }

    let root: Folder

    /// The inode and the modification time of every file.
    func stamps() -> [String: Stamp] {
        var stamps: [String: Stamp] = [:]
        for name in files() {
            guard let status = root.status(name) else { continue }
            stamps[name] = Stamp(
                inode: UInt64(status.st_ino), seconds: status.st_mtim.tv_sec,
                nanoseconds: status.st_mtim.tv_nsec)
        }
        return stamps
    }

    func complaints(
        about expectations: [TreeExpectation], before stamps: [String: Stamp]
    ) -> [String] {
        var rest = files()
        var complaints: [String] = []
        for expectation in expectations {
            complaints += complaint(about: expectation, &rest, stamps).map { [$0] } ?? []
        }
        return complaints + rest.map { "tree: \($0) was not expected (\(size($0)))" }
    }

    private func files() -> [String] {
        root.entries().filter { !$0.isFolder && !$0.name.hasPrefix(".mirror/") }.map(\.name)
    }

    private func complaint(
        about expectation: TreeExpectation, _ rest: inout [String], _ stamps: [String: Stamp]
    ) -> String? {
        switch expectation {
        case .empty: return nil
        case .absent(let path): return root.status(path) == nil ? nil : "tree: \(path) is there"
        case .file(let pattern, let bytes):
            guard let name = take(pattern, &rest) else { return "tree: \(pattern) is absent" }
            guard let actual = root.read(name) else { return "tree: \(name) cannot be read" }
            return actual == bytes ? nil : "tree: \(name): \(difference(actual, bytes))"
        case .part(let path, let least):
            let stem = path.split(separator: "/").last.map(String.init) ?? path
            guard let name = take("tmp/\(stem).*.part", &rest) else {
                return "tree: no part of \(path)"
            }
            let length = root.read(name)?.count ?? 0
            return length >= least ? nil : "tree: \(name) has \(length) bytes, not \(least)"
        case .untouched(let path):
            return stamps[path] != nil && stamps[path] == self.stamps()[path]
                ? nil : "tree: \(path) was touched"
        case .mode(let path, let mode):
            let actual = root.status(path).map { Int($0.st_mode & 0o7777) }
            return actual == mode ? nil : "tree: the mode of \(path) is \(actual ?? -1)"
        case .modified(let path, let seconds):
            let actual = root.status(path)?.st_mtim
            return actual?.tv_sec == seconds && actual?.tv_nsec == 0
                ? nil : "tree: \(path) was modified at \(actual?.tv_sec ?? -1)"
        case .link(let path):
            let isLink = root.status(path).map { $0.st_mode & S_IFMT == S_IFLNK } ?? false
            rest.removeAll { $0 == path }
            return isLink ? nil : "tree: \(path) is no symbolic link"
        }
    }

    private func take(_ pattern: String, _ rest: inout [String]) -> String? {
        guard let index = rest.firstIndex(where: { Glob.matches(pattern, $0) }) else { return nil }
        return rest.remove(at: index)
    }

    private func size(_ name: String) -> String {
        root.status(name).map { "\($0.st_size) bytes" } ?? "gone"
    }

    private func difference(_ actual: [UInt8], _ wanted: [UInt8]) -> String {
        let first = zip(actual, wanted).enumerated().first { $1.0 != $1.1 }?.offset
        return "\(actual.count) bytes for \(wanted.count), "
            + (first.map { "different from byte \($0) on" } ?? "equal as far as both go")
    }
}
