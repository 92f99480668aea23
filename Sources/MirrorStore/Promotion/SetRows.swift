internal import MirrorModel

/// The rows of a promoted set besides those of its new files.
struct SetRows: Sendable {
    /// The journal's number.
    let journal: Int64
    /// Orphans that left with the old set.
    var removed: [Target] = []
    /// Files that stayed, by their paths, with the stamps that they have in the new folder.
    var restamped: [(path: String, stamp: FileStamp)] = []

    /// Writes them; a journal that is not settled stays for the next run.
    func write(to batch: inout Database, isSettled: Bool) throws(IndexError) {
        for target in removed { try FileRows.remove(target, in: &batch) }
        for file in restamped { try FileRows.setStamp(file.stamp, ofFileAt: file.path, in: &batch) }
        if isSettled { try JournalRows.remove(journal, in: &batch) }
    }
}
