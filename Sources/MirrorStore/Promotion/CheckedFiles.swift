internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// The files of confirmations that need more than a row: those that others wrote, and those that get
/// another mode.
///
/// Each is looked at once more before anything is promised, and flushed before its row is written.
struct CheckedFiles {
    /// Whether a file was looked at, even one that was not as it should be.
    private(set) var hasLooked = false
    /// Files that must be flushed by themselves; those with another mode must be flushed in whole.
    private var unflushed: [(file: Descriptor, hasNewMode: Bool)] = []
    /// Stamps of files that were given another mode, by the position of their work.
    private var stamps: [Int: FileStamp] = [:]

    /// The stamp of a work's file since its mode was set; nil where it has the mode that it had.
    func stamp(of at: Int) -> FileStamp? { stamps[at] }

    /// Looks at the file of a work, and gives it its mode. Returns whether no group flush writes out
    /// its name.
    ///
    /// - Parameter groupDevice: the file system that a group flush writes out; nil when there is none.
    mutating func check(
        _ confirmed: Confirmed, at: Int, folders: inout FolderCache, groupDevice: UInt64?
    ) throws(MirrorError) -> Bool {
        guard confirmed.isOfOthers || confirmed.mode != nil else { return false }
        hasLooked = true
        let target = confirmed.target
        do throws(Errno) {
            let file = try folders.entry(target.path).open(O_RDONLY)
            let status = try file.status(path: target.path)
            guard status.isFile, status.stamp == confirmed.record.stamp else {
                // The row will speak of a file that is gone, so that the next run reads this one.
                if !confirmed.isAdoption, confirmed.mode == nil { return false }
                throw Errno(number: ESTALE, call: "statx", path: target.path)
            }
            if let mode = confirmed.mode {
                try retryingLibc("fchmod", target.path) { fchmod(file.number, mode) }
                stamps[at] = try file.status(path: target.path).stamp
            }
            if status.device != groupDevice {
                unflushed.append((file, hasNewMode: confirmed.mode != nil))
                return confirmed.isOfOthers
            }
            return false
        } catch {
            if error.number == ESTALE {
                throw MirrorError(
                    .sourceChanged, "\(target): it changed after it was read. Run again.",
                    target: target)
            }
            throw MirrorError(error, target: target)
        }
    }

    /// Flushes the files that no group flush writes out.
    mutating func flush(beneath root: RootDirectory) throws(Errno) {
        for (file, hasNewMode) in unflushed {
            // fdatasync(2) need not write a mode.
            if hasNewMode {
                try file.flush(path: root.path)
            } else {
                try file.flushBytes(path: root.path)
            }
        }
        unflushed = []
    }
}
