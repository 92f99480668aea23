internal import Glibc
package import MirrorModel

extension MirrorError {
    /// Translates a failed call for a caller: a full disk, a file in the way, or input/output.
    package init(_ error: Errno, target: Target? = nil) {
        let place = target?.path ?? (error.path.isEmpty ? "The system" : error.path)
        // Elsewhere such a number may come from a disk that is gone.
        let isOwn =
            target == nil
            && (error.path.hasPrefix(".mirror/") || error.path.contains("/.mirror/"))
        let obstructed = isOwn ? FailureCode(ofObstacleAt: error.path) : .obstructed
        switch error.number {
        case ENOSPC, EDQUOT:
            let what = error.number == EDQUOT ? "the disk quota is used up" : "the disk is full"
            self.init(
                .noSpace, "\(place): \(what). Parts were kept; free some space and run again.",
                target: target)
        case ELOOP:
            self.init(
                obstructed,
                "\(place): a symbolic link is in the way, and mirror follows none. Remove it.",
                target: target)
        case ENOTDIR:
            self.init(
                obstructed, "\(place): a file is where a folder should be. Move it away.",
                target: target)
        case EISDIR:
            self.init(
                obstructed, "\(place): a folder is where the file should be. Move it away.",
                target: target)
        case ENXIO where isOwn, ESPIPE where isOwn:
            self.init(
                obstructed,
                "\(place): a pipe, a socket or a device is where the file should be. Move it away.",
                target: target)
        case EAGAIN, EMFILE, ENFILE, ENOMEM:
            self.init(
                .inputOutput,
                """
                \(place): \(error). There are no more threads, open files or memory for this \
                process; end other programs, or raise its limits (ulimit), then run again.
                """, target: target)
        case EBADMSG:
            // ext4 and xfs also return this number for bytes with a wrong checksum.
            self.init(
                .inputOutput,
                """
                \(place): the disk does not hold what was written to it. Check the disk, then run \
                again.
                """, target: target)
        default:
            self.init(.inputOutput, "\(place): \(error).", target: target)
        }
    }
}

extension FailureCode {
    /// The code for something else in the place of a file in `.mirror/`: that of the file's own errors.
    fileprivate init(ofObstacleAt path: String) {
        let name = PathText.name(of: path)
        if name == "settings.json" {
            self = .manifestInvalid
        } else if name.hasPrefix("index.sqlite") {
            self = .inputOutput
        } else {
            self = .rootUnusable
        }
    }
}
