internal import CLinux
internal import Glibc
internal import MirrorSystem
internal import Synchronization

/// Files that have no name until they get their final one (`O_TMPFILE` of open(2)).
///
/// Such a file costs one entry in one folder, where a file in `tmp/` costs two and a rename; a killed
/// process leaves nothing of it. Linking never replaces, so only a target where nothing is gets its
/// file this way; before anything else is done with it, the file gets its name in `tmp/`.
final class UnnamedFiles: Sendable {
    /// How many may be open at once: a quarter of what the process may have open (getrlimit(2)).
    let most: Int
    private let isSupported = Mutex<Bool?>(nil)

    init(isAllowed: Bool) {
        most = isAllowed ? OpenFileLimit.current / 4 : 0
    }

    /// Makes a file on a folder's file system, mode 0644; nil where that, or giving it a name later,
    /// cannot be done. `tmp` is on the same file system, and `trial` a name that nothing has in it.
    func make(
        in folder: Descriptor, tmp: Descriptor, trial: @autoclosure () -> String
    ) -> Descriptor? {
        let isSupported = isSupported.withLock { known in
            let answer = known ?? UnnamedFiles.canBeNamed(in: tmp, trial())
            known = answer
            return answer
        }
        return isSupported ? UnnamedFiles.open(in: folder) : nil
    }

    private static func open(in folder: Descriptor) -> Descriptor? {
        // A failure is not looked into: a file with a name will meet it too, and say so.
        let number = linux_open_unnamed(folder.number, 0o644)
        return number < 0 ? nil : Descriptor(owning: number)
    }

    private static func canBeNamed(in tmp: Descriptor, _ trial: String) -> Bool {
        guard let file = open(in: tmp), linux_link_open(file.number, tmp.number, trial) == 0 else {
            return false
        }
        return unlinkat(tmp.number, trial, 0) == 0
    }
}

extension Descriptor {
    /// Gives the open file a name, or one more; `EEXIST` where that is taken.
    func link(to entry: DirectoryEntry) throws(Errno) {
        try retrying("linkat", entry.path) {
            linux_link_open(number, entry.folder.number, entry.name)
        }
    }
}
