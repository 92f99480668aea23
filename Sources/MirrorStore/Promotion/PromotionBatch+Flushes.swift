internal import MirrorModel
internal import MirrorSystem

/// What must be on the disk before a batch goes on.
enum Awaited {
    /// The new bytes, and the intents.
    case bytes
    /// The names, and the folders above them.
    case names
    /// The rows.
    case rows
}

/// The flushes between the steps.
///
/// One of the whole file system serves all batches that wait for something on it; the rest is flushed
/// thing by thing.
extension PromotionBatch {
    /// Whether files wait for their names.
    var hasStaged: Bool { staged.contains { $0 != nil } }

    /// Whether a flush of the whole file system gives it some of what it waits for.
    var sharesFlush: Bool { waitsFor.map(sharesFlush) ?? false }

    /// Whether such a flush gives it some of this.
    func sharesFlush(_ awaited: Awaited) -> Bool {
        switch awaited {
        case .bytes: isGroup && (hasStaged || hasChecked)
        case .names: isGroup && !touched.isEmpty
        case .rows: false
        }
    }

    /// Flushes what a flush of the whole file system did not.
    mutating func flushRest(_ awaited: Awaited, afterShared isShared: Bool) throws(Errno) {
        switch awaited {
        case .bytes: try flushBytes(afterShared: isShared)
        case .names: try flushNames()
        case .rows: if !isShared || !isIndexShared { try index.makeDurable() }
        }
    }

    /// Flushes what a batch waits for that stands alone.
    mutating func flush(_ awaited: Awaited) throws(PromotionFault) {
        do throws(Errno) {
            let made = awaited == .rows ? [] : root.takeUnflushedFolders()
            let isShared = sharesFlush(awaited)
            if isShared { try flush.flushGroup() }
            try flush.flush(made, besideGroup: isShared)
            try flushRest(awaited, afterShared: isShared)
        } catch { throw .unflushed(error) }
    }

    /// Whether a flush of the whole file system writes the index's log out too.
    private var isIndexShared: Bool { index.isOnDevice(flush.device) }

    private mutating func flushBytes(afterShared isShared: Bool) throws(Errno) {
        guard hasStaged || hasChecked else { return }
        if !isShared, let error = probe.flushError() { throw error }
        for case let item? in staged {
            // Not fdatasync: the mode and the times must last too.
            if item.needsFlush { try item.file?.flush(path: item.path) }
        }
        for file in adopted { try file.flushBytes(path: root.path) }
        adopted = []
        if !isShared || !isIndexShared { try index.makeDurable() }
    }

    /// Flushes renames and removals.
    private mutating func flushNames() throws(Errno) {
        for path in touched.values {
            let folder = try folders.open(path)
            if !isGroup || folder.device != flush.device {
                try folder.descriptor.flush(path: path)
            }
        }
    }
}
