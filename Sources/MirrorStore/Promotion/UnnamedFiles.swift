internal import CLinux
internal import Glibc
internal import MirrorSystem
internal import Synchronization

/// Files that have no name until they get their final one (`O_TMPFILE` of open(2)).
///
/// Such a file costs one entry in one folder, where a file in `tmp/` costs two entries and a
/// rename. A killed process leaves no trace of such a file. Linking never replaces, so a file is
/// made this way only for a target without an existing file. For any other use the file first gets
/// its name in `tmp/`.
final class UnnamedFiles: Sendable {
    /// Whether the root's file system has them; nil before the first was tried.
    private let isSupported: Mutex<Bool?>

    init(isAllowed: Bool) { isSupported = Mutex(isAllowed ? nil : false) }

    /// Makes a file on a folder's file system, mode 0644; nil where that is not supported.
    ///
    /// Returns nil also where the file could not get a name later. `tmp` is on the same file
    /// system, and `trial` is a name that no file in it has.
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
        // The cause of a failure is not examined: a file with a name will fail too, and report it.
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
