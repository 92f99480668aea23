internal import Glibc
package import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The index of a root for somebody who reads it for long, beside runs that change it.
///
/// SQLite shows what other processes commit. What it does not show is another file in the place of
/// the index: one that a run made because there was none, or because the old one was damaged. And an
/// index that cannot be written to is read as it is when it is opened. So each question begins with
/// a look at the file.
package final class IndexWatch: Sendable {
    private let root: RootDirectory
    private let state: Mutex<State>

    private struct State {
        var index: Index
        var identity: Identity
        /// Counts how often another file was opened.
        var generation: Int64 = 0
    }

    /// The stamps of the index and its log; nil for what is not there.
    private struct Identity: Equatable {
        var file: FileStamp?
        var log: FileStamp?
    }

    private static let path = ".mirror/" + IndexFile.name

    /// Opens the index for reading. Throws `MirrorError` with `indexNewer` or `inputOutput`.
    package init(_ root: RootDirectory) throws(MirrorError) {
        self.root = root
        let identity = IndexWatch.look(in: root)
        let index = try IndexOpening.openForReading(root)
        state = Mutex(State(index: index, identity: identity))
    }

    /// The index as it is now, and a number that changes when it is another file.
    package func current() throws(MirrorError) -> (index: Index, generation: Int64) {
        let file = FileStatus.stamp(folder: root.descriptor.number, file: IndexWatch.path)
        return try state.withLock { state throws(MirrorError) in
            // What SQLite shows by itself needs no look at the log, of which there is one a request.
            let isSame =
                state.index.isLive
                ? file?.inode == state.identity.file?.inode
                : state.identity == IndexWatch.look(in: root)
            if !isSame {
                let now = IndexWatch.look(in: root)
                // Questions under way may keep the old one open, and an open index is not judged anew.
                state.index =
                    now.file == nil
                    ? try indexed { () throws(IndexError) in try IndexOpening.empty() }
                    : try IndexOpening.openForReading(root)
                state.identity = now
                state.generation += 1
            }
            return (state.index, state.generation)
        }
    }

    /// Closes the index. No question may be under way or asked afterwards.
    package func close() throws(MirrorError) {
        try state.withLock { state throws(MirrorError) in
            try state.index.close()
        }
    }

    private static func look(in root: RootDirectory) -> Identity {
        let folder = root.descriptor.number
        return Identity(
            file: FileStatus.stamp(folder: folder, file: path),
            log: FileStatus.stamp(folder: folder, file: path + "-wal"))
    }
}
