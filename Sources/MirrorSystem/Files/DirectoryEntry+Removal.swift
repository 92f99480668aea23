internal import CLinux
internal import Glibc
internal import MirrorModel

extension DirectoryEntry {
    /// Removes a folder with everything beneath it; follows no link.
    package func removeTree() throws(Errno) {
        let opened = try open(O_RDONLY | O_DIRECTORY)
        for child in try opened.names(path: path) {
            let entry = DirectoryEntry(folder: opened, name: child, path: path + "/" + child)
            if try entry.status()?.kind == .folder {
                try entry.removeTree()
            } else {
                try entry.unlink()
            }
        }
        try retryingLibc("unlinkat", path) { unlinkat(folder.number, name, AT_REMOVEDIR) }
    }
}
