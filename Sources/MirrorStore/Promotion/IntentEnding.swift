internal import MirrorModel

/// The change of the index that settles an intent.
struct IntentEnding: Sendable {
    let intent: PromotionIntent
    /// The target's stamp when it has the intended bytes; nil leaves its row alone.
    var stamp: FileStamp?
    /// Whether the other target, whose file was renamed, has no file any more.
    var isSourceGone = false

    /// Writes the rows of what was completed, fixes its name if a server chose it, and forgets the
    /// intent.
    func write(to database: inout Database) throws(IndexError) {
        try ServerNameRows.settle(intent.record.target, isThere: stamp != nil, in: &database)
        if let stamp {
            var record = intent.record
            record.stamp = stamp
            try FileRows.put(record, in: &database)
            if intent.kind == .landing {
                try PartRows.remove(named: FolderCache.split(intent.staged).name, in: &database)
            }
        }
        if isSourceGone {
            try FileRows.remove(path: intent.staged, in: &database)
        }
        try IntentRows.remove([intent.id], in: &database)
    }
}
