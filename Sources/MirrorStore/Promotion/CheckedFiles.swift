internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// The files of confirmations, each looked at once more before anything is promised.
///
/// Those that others wrote, and those that get another mode, need more than a row: they are flushed
/// before it is written.
struct CheckedFiles {
    /// Whether a file may have to be flushed, even one that was not as it should be.
    private(set) var hasOpened = false
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
        let target = confirmed.target
        do throws(Errno) {
            let entry = try folders.entry(target.path)
            if !confirmed.isOfOthers, confirmed.mode == nil {
                // Hours may have passed since the plan looked at it.
                let there = try entry.status()
                if there?.isFile == true, there?.stamp == confirmed.seen { return false }
            }
            hasOpened = true
            let file = try entry.open(O_RDONLY)
            let status = try file.status(path: target.path)
            let isAsSeen = status.isFile && status.stamp == confirmed.seen
            if !isAsSeen, try !isTouched(file, status, confirmed) {
                throw Errno(number: ESTALE, call: "statx", path: target.path)
            }
            if let mode = confirmed.mode {
                try retryingLibc("fchmod", target.path) { fchmod(file.number, mode) }
                stamps[at] = try file.status(path: target.path).stamp
            }
            if status.device != groupDevice {
                unflushed.append((file, hasNewMode: confirmed.mode != nil))
                return confirmed.isOfOthers || !isAsSeen
            }
            return false
        } catch {
            switch error.number {
            case ENOENT: throw .changedSincePlan(target, isGone: true)
            // A link or a pipe may be in its place or its folder's, or its mode was changed.
            case ESTALE, ELOOP, ENOTDIR, ENXIO, EACCES:
                throw .changedSincePlan(target, isGone: false)
            default: throw MirrorError(error, target: target)
            }
        }
    }

    /// Whether a file has other times than the plan saw, and the same bytes.
    ///
    /// The row will speak of the times that are gone, so that the next run reads the file. A file is
    /// adopted, or gets a mode, only as it was seen. One that was edited stays so only while nobody
    /// writes to it.
    private func isTouched(
        _ file: Descriptor, _ status: FileStatus, _ confirmed: Confirmed
    ) throws(Errno) -> Bool {
        let record = confirmed.record
        guard status.isFile, !confirmed.isAdoption, confirmed.mode == nil,
            record.stamp == confirmed.seen, record.stamp.size == status.stamp.size
        else { return false }
        let path = record.target.path
        let digests = try FileDigests.compute(file, algorithms: [.sha256], path: path)
        let after = try file.status(path: path)
        return digests?.first == record.sha256 && after.stamp == status.stamp
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
