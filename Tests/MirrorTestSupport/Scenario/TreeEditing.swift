internal import Glibc

/// Carries out what someone does to a tree between two runs.
struct TreeEditing {
    let root: Folder

    func carryOut(_ edit: TreeEdit) throws {
        switch edit {
        case .write(let path, let bytes): try root.write(path, bytes)
        case .append(let path, let bytes): try root.write(found(path), bytes, mode: "ae")
        case .overwrite(let path, let offset, let bytes):
            let name = found(path)
            guard var whole = root.read(name), offset + bytes.count <= whole.count else {
                throw SystemFailure("overwrite", name, errno: ENOENT)
            }
            whole.replaceSubrange(offset..<offset + bytes.count, with: bytes)
            try root.write(name, whole, mode: "r+e")
        case .truncate(let path, let size):
            try check(Glibc.truncate(root.full(found(path)), off_t(size)), "truncate", path)
        case .remove(let path): try check(unlink(root.full(found(path))), "unlink", path)
        case .touch(let path): try check(utimes(root.full(found(path)), nil), "utimes", path)
        case .chmod(let path, let mode):
            try check(Glibc.chmod(root.full(found(path)), mode_t(mode)), "chmod", path)
        case .link(let path, let target):
            try root.makeFolders(above: path)
            try check(symlink(target, root.full(path)), "symlink", path)
        case .folder(let path): try root.makeFolders(above: path + "/.")
        case .copyRoot:
            let copy = root.path + ".copy"
            let result = try Command.run("/bin/cp", ["-r", root.path, copy])
            try check(result.ending == .exited(0) ? 0 : -1, "cp -r", copy)
            root.remove()
            try check(rename(copy, root.path), "rename", copy)
        }
    }

    /// The one file whose name fits; the pattern itself when there is none.
    private func found(_ pattern: String) -> String {
        guard pattern.contains("*") else { return pattern }
        return root.entries().first { Glob.matches(pattern, $0.name) }?.name ?? pattern
    }

    private func check(_ result: Int32, _ call: String, _ path: String) throws {
        guard result == 0 else { throw SystemFailure(call, path, errno: errno) }
    }
}
