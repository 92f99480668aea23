/// A verified body on its way to its final name.
///
/// It is a class because many functions pass it on, and a copy would count a reference for each of
/// its texts.
package final class Landing: Sendable {
    /// Where it belongs.
    package let target: Target
    /// The bytes: in memory, a part in `tmp/`, or a file of the tree to copy from.
    package let content: Content
    /// The row that is written when it is there. Its stamp has the verified size; the rest of the
    /// stamp is filled in by the promotion.
    package let record: IndexRecord
    /// The file at the target when the plan was made; any other file found there now is a conflict.
    package let expected: ExpectedFile
    /// The modification time that the file gets, in seconds since the Unix epoch.
    package let modified: Int64
    /// Whether the mode is 0755 instead of 0644.
    package let isExecutable: Bool
    /// The treatment of bytes that mirror did not put there.
    package let onConflict: ConflictPolicy
    /// What the target is remembered by from now on; nil where the manifest gives the name.
    package let serverName: ServerNameKey?

    package init(
        target: Target, content: Content, record: IndexRecord, expected: ExpectedFile,
        modified: Int64, isExecutable: Bool, onConflict: ConflictPolicy,
        serverName: ServerNameKey? = nil
    ) {
        self.target = target
        self.content = content
        self.record = record
        self.expected = expected
        self.modified = modified
        self.isExecutable = isExecutable
        self.onConflict = onConflict
        self.serverName = serverName
    }

    /// The orphan that is renamed to the target; nil for any other content.
    package var renamedOrphan: Target? {
        if case .move(let orphan) = content { orphan } else { nil }
    }

    /// The bytes that wait in memory for it.
    package var bytesInMemory: Int {
        if case .memory(let bytes) = content { return bytes.count }
        return 0
    }

    /// The row once the file is at its final name.
    package func record(stamp: FileStamp) -> IndexRecord {
        var record = record
        record.stamp = stamp
        return record
    }

    package enum Content: Sendable, Hashable {
        case memory([UInt8])
        /// A part by its file name, and the stamp that its file had when its bytes were verified.
        case part(String, FileStamp)
        /// Bytes that are elsewhere in the tree (or at a `file:` source that is inside it): reflink,
        /// else copy; the sha256 is computed from the copy and must be the record's.
        case copy(of: Target)
        /// A part of another target, by its file name, and its stamp when its bytes were verified.
        case copyOfPart(String, FileStamp)
        /// An unchanged orphan that is renamed.
        case move(of: Target)
    }

    package enum ExpectedFile: Sendable, Hashable {
        case nothing
        /// The version that the index says mirror put there, with its stamp as last seen.
        case ours(FileStamp)
        /// Other bytes, to be treated as the conflict policy says.
        case foreign(FileStamp)
    }
}

/// How a landing ended.
package enum LandingResult: Sendable {
    /// The file is at its final name, on the disk, and in the index, with the stamp that it has there.
    case landed(Landing, FileStamp, conflict: Target?)
    /// Nothing changed at the final name.
    indirect case failed(MirrorError)
}

/// A row for a file that stays as it is.
///
/// A class for the reason that `Landing` is one.
package final class Confirmed: Sendable {
    /// What becomes of the row.
    package let row: Row
    /// Whether the file gets its row now, since it was found with the wanted bytes.
    package let isAdoption: Bool
    /// Whether it is not the file that mirror put there, but holds the same bytes: somebody wrote it
    /// once more, or touched it.
    package let isRewritten: Bool
    /// The permissions that the file is given, where the manifest's wish changed.
    package let mode: UInt32?
    /// What the target is remembered by from now on; nil where the manifest gives the name, and
    /// where the row learns nothing but times.
    package let serverName: ServerNameKey?
    /// The stamp that the file had when the plan was made; nil where that is its row's.
    private let planned: FileStamp?

    package enum Row: Sendable {
        /// Another one takes its place.
        case replaced(by: IndexRecord)
        /// It only learns that its source has confirmed it, and until when that holds.
        case confirmedAgain(IndexRecord, at: Instant, freshUntil: Instant?)
    }

    package init(
        _ row: Row, isAdoption: Bool = false, isRewritten: Bool = false, mode: UInt32? = nil,
        serverName: ServerNameKey? = nil, planned: FileStamp? = nil
    ) {
        self.row = row
        self.planned = planned
        self.isAdoption = isAdoption
        self.isRewritten = isRewritten
        self.mode = mode
        self.serverName = serverName
    }

    /// The stamp that the file must have when its row is written.
    ///
    /// It may have been changed or removed while its source was asked. The row of a file that was edited
    /// has another stamp.
    package var seen: FileStamp {
        if let planned { return planned }
        switch row {
        case .replaced(let record), .confirmedAgain(let record, _, _): return record.stamp
        }
    }

    /// Whether the row only learns once more what it says. Where that is lost, the source is asked again, and
    /// no later than it would be.
    package var isRepetition: Bool {
        guard case .confirmedAgain(let record, _, let freshUntil) = row else { return false }
        guard let earlier = record.freshUntil else { return true }
        return freshUntil.map { $0 >= earlier } ?? false
    }

    /// Whether others wrote the file, so that it must be flushed before its row is written.
    package var isOfOthers: Bool { isAdoption || isRewritten }

    /// The row as it will be.
    package var record: IndexRecord {
        switch row {
        case .replaced(let record): return record
        case .confirmedAgain(var record, let now, let freshUntil):
            record.confirmedAt = now
            record.freshUntil = freshUntil
            return record
        }
    }

    /// The target.
    package var target: Target {
        switch row {
        case .replaced(let record), .confirmedAgain(let record, _, _): record.target
        }
    }
}

/// A file to be removed.
package final class Removal: Sendable {
    /// The file.
    package let target: Target
    /// Its stamp when the removal was decided; if the stamp differs, the bytes are compared with the row.
    package let stamp: FileStamp?

    /// Takes the file and its stamp.
    package init(target: Target, stamp: FileStamp?) {
        self.target = target
        self.stamp = stamp
    }
}
