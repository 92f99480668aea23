internal import MirrorModel
internal import MirrorSystem

/// New bytes on the target's file system, complete and verified: under a name of mirror's own, or
/// without any yet.
final class StagedFile {
    /// What is promoted.
    let landing: Landing
    /// What kind of name the bytes wait under.
    let kind: PromotionIntent.Kind
    /// Where they wait, beneath the root.
    let path: String
    /// Where what is at the target goes while names cannot be exchanged, beneath the root.
    let aside: String?
    /// The file as it was staged.
    let stamp: FileStamp
    /// The open file, where it must be flushed by itself or has no name.
    private(set) var file: Descriptor?
    /// Whether it is flushed by itself.
    let needsFlush: Bool
    /// Whether it has the name that it is to wait under not yet.
    let isUnnamed: Bool
    /// Whether only this promotion knows the file, so that it is removed when the promotion fails.
    let isDisposable: Bool
    /// The intent's number in the index, once it is there.
    var number: Int64 = 0
    /// How the target got the bytes; nil before.
    var placed: Placed?

    init(
        landing: Landing, kind: PromotionIntent.Kind = .landing, path: String, aside: String? = nil,
        stamp: FileStamp, file: Descriptor? = nil, needsFlush: Bool = false,
        isUnnamed: Bool = false, isDisposable: Bool = false
    ) {
        self.landing = landing
        self.kind = kind
        self.path = path
        self.aside = aside
        self.stamp = stamp
        self.file = file
        self.needsFlush = needsFlush
        self.isUnnamed = isUnnamed
        self.isDisposable = isDisposable
    }

    /// Whether the existing file may be dropped even if mirror did not put it there.
    var replaces: Bool { kind == .landing && landing.onConflict == .replace }

    /// The stamp to record of the file that the target has now.
    ///
    /// A name more or less changes a file's ctime, and that is its stamp from now on. Of a file that
    /// somebody has changed since it was verified it is the old stamp, so that the next run sees it.
    func recordedStamp(of now: FileStamp) -> FileStamp {
        now.isSameVersion(as: stamp) ? now : stamp
    }

    /// What the index is told before the rename.
    var intent: PromotionIntent {
        PromotionIntent(
            kind: kind, staged: path, aside: aside, stagedInode: stamp.inode, replaces: replaces,
            record: landing.record(stamp: stamp))
    }

    /// Flushes a file that must be flushed by itself, and closes it: a set can be larger than the number
    /// of files that may be open.
    func flushNow() throws(Errno) {
        if needsFlush { try file?.flush(path: path) }
        if !isUnnamed { close() }
    }

    /// Closes the file, which has its final name.
    func close() { file = nil }
}
