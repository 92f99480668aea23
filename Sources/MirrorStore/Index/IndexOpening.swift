internal import CLinux
internal import CSQLite
internal import Glibc
package import MirrorModel
internal import MirrorSystem

/// An open index, and a note for the user about the state in which it was found.
package struct OpenedIndex: Sendable {
    package let index: Index
    /// A sentence for people when it was damaged; nil otherwise.
    package let notice: String?
}

/// The opening of an index: its files are judged, then opened, brought to this version, or made anew.
///
/// What looks like damage is looked at twice, because the disk may have failed a read. Only a run that
/// holds the root's lock moves a damaged index aside; a reader is told.
package struct IndexOpening {
    private let file: IndexFile
    private let root: RootDirectory

    /// Opens the index of a root for writing; the caller holds the root's lock.
    ///
    /// A missing one is made, one of an earlier schema brought to this one. A damaged one is moved aside
    /// with its log, and a new one is made. One of a later schema is left untouched: `MirrorError` with
    /// `indexNewer`.
    package static func open(
        _ root: RootDirectory, now: Instant
    ) throws(MirrorError) -> OpenedIndex {
        let file: IndexFile
        do throws(Errno) {
            file = IndexFile(folder: try root.makeFolder(".mirror"), root: root)
        } catch { throw MirrorError(error) }
        PrivateCopy.removeLeftovers(in: file.folder)
        let opening = IndexOpening(file: file, root: root)
        return try indexed { () throws(IndexError) in try opening.openWriter(now: now) }
    }

    private func openWriter(now: Instant) throws(IndexError) -> OpenedIndex {
        let isOpen = OpenIndexes.contains(file)
        let damage: String
        switch try verdict(isOpen: isOpen) {
        case .newer(let version): throw IndexError.newer(version: version)
        case .damaged(let words): damage = words
        case .missing:
            // A log without a database would be replayed into the new one.
            if try filed({ () throws(Errno) in try file.size(suffix: "-wal") }) ?? 0 > 0 {
                _ = try setAside(now: now)
            }
            file.removeMarks()
            return OpenedIndex(index: try open(isNew: true), notice: nil)
        case .sound:
            do throws(IndexError) {
                let index = try openTwice()
                // Where this process has it open, nothing was looked at.
                if !isOpen { file.removeMarks() }
                return OpenedIndex(index: index, notice: nil)
            } catch {
                guard let words = error.damage else { throw error }
                damage = words
            }
        }
        return try openAnew(insteadOf: damage, now: now)
    }

    /// Moves a damaged index aside and makes a new one. Where that fails, the error says where the old one is:
    /// the next run finds none that is damaged.
    private func openAnew(insteadOf damage: String, now: Instant) throws(IndexError) -> OpenedIndex
    {
        let name = try setAside(now: now)
        do throws(IndexError) {
            let notice = """
                The index was damaged (\(damage)). It is kept as .mirror/\(name), and a new one is made \
                from the tree and the manifests.
                """
            return OpenedIndex(index: try open(isNew: true), notice: notice)
        } catch {
            throw error.adding("the damaged one is kept as .mirror/\(name)")
        }
    }

    /// Opens the index of a root for reading, without a lock, and also where nothing can be written.
    ///
    /// If there is none, the result is an empty index in memory. Throws `MirrorError` with `inputOutput`
    /// for a damaged one, which would look like one without rows.
    package static func openForReading(_ root: RootDirectory) throws(MirrorError) -> Index {
        let file: IndexFile
        do throws(Errno) {
            file = IndexFile(folder: try root.openFolder(".mirror"), root: root)
        } catch {
            if error.number == ENOENT { return try indexed(empty) }
            throw MirrorError(error)
        }
        let opening = IndexOpening(file: file, root: root)
        return try indexed { () throws(IndexError) in try opening.openReader() }
    }

    private func openReader() throws(IndexError) -> Index {
        switch try verdict(isOpen: OpenIndexes.contains(file)) {
        case .newer(let version): throw IndexError.newer(version: version)
        case .missing: return try IndexOpening.empty()
        case .damaged(let words): throw IndexError.damaged(words)
        case .sound: return try openSoundReader()
        }
    }

    /// What the files are. A database that this process has open is not judged: opening and closing it once
    /// more would drop the locks.
    private func verdict(isOpen: Bool) throws(IndexError) -> IndexFile.Verdict {
        isOpen ? file.verdictByMark ?? .sound : try file.judge()
    }

    /// Opens a sound index. What looks like damage is looked at twice: the disk may have failed a read.
    private func openTwice() throws(IndexError) -> Index {
        let index: Index
        do throws(IndexError) { index = try open(isNew: false) } catch {
            guard error.damage != nil, !OpenIndexes.contains(file) else { throw error }
            index = try open(isNew: false)
        }
        return index
    }

    private func open(isNew: Bool) throws(IndexError) -> Index {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW
        var database = try Database(file.path, flags: flags, beneath: file.folder)
        try database.run(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;
            PRAGMA cache_size = -8192; PRAGMA trusted_schema = OFF; PRAGMA secure_delete = OFF;
            """)
        if try database.number("PRAGMA user_version") == 0 {
            try database.run("BEGIN IMMEDIATE; \(Schema.creation) COMMIT;")
        }
        while let step = Schema.migrations[try database.number("PRAGMA user_version")] {
            try database.run("BEGIN IMMEDIATE; \(step) COMMIT;")
        }
        try IndexCheck.verify(
            fileSize: isNew ? 0 : filed { () throws(Errno) in try file.size() }, in: &database)
        return Index(
            location: IndexLocation(
                file: file, name: file.path, flags: flags & ~SQLITE_OPEN_CREATE, copy: nil),
            connection: database, isWriter: true, wasCreated: isNew)
    }

    /// Opens a sound index for reading.
    private func openSoundReader() throws(IndexError) -> Index {
        let isWritable =
            faccessat(file.folder.number, ".", W_OK, 0) == 0
            && faccessat(file.folder.number, IndexFile.name, W_OK, 0) == 0
        do throws(IndexError) { return try openSoundReader(isWritable: isWritable) } catch {
            // SQLite needs room for the memory that it shares with other processes.
            guard isWritable, error.isUnwritable else { throw error }
            return try openSoundReader(isWritable: false)
        }
    }

    private func openSoundReader(isWritable: Bool) throws(IndexError) -> Index {
        var location: IndexLocation
        if isWritable {
            // The last reader to leave removes the shared memory that it needed, so it may write.
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW
            location = IndexLocation(file: file, name: file.path, flags: flags, copy: nil)
        } else if try filed({ () throws(Errno) in try file.size(suffix: "-wal") }) ?? 0 > 0 {
            let copy = try filed { () throws(Errno) in
                try PrivateCopy.make(from: file.folder, path: file.folderPath)
            }
            location = IndexLocation(
                file: file, name: copy.path, flags: SQLITE_OPEN_READWRITE, copy: copy)
        } else {
            let name = "file:\(IndexOpening.escaped(file.path))?immutable=1"
            location = IndexLocation(
                file: file, name: name, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, copy: nil)
        }
        var database = try Database(location.name, flags: location.flags, beneath: file.folder)
        try database.run("PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;")
        let version = try database.number("PRAGMA user_version")
        if let tables = Schema.substitutes[version] {
            location.preparation = tables
            try database.run(tables)
        }
        if let view = try PromotedView.sql(of: root, in: &database) {
            location.preparation += view
            try database.run(view)
        }
        // A run may have migrated it meanwhile, and then it is as it should be.
        guard try database.number("PRAGMA user_version") == version else {
            return try openSoundReader()
        }
        try database.run("PRAGMA query_only = ON;")
        try IndexCheck.verify(
            fileSize: filed { () throws(Errno) in try file.size() }, in: &database)
        return Index(
            location: location, connection: database, isWriter: false, wasCreated: false)
    }

    /// An index without rows that leaves no file.
    static func empty() throws(IndexError) -> Index {
        let database = try Database(":memory:", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        try database.run(Schema.creation)
        return Index(location: nil, connection: database, isWriter: false, wasCreated: true)
    }

    /// Moves the index and its log aside; returns its new name.
    private func setAside(now: Instant) throws(IndexError) -> String {
        try filed { () throws(Errno) in try file.setAside(at: now) }
    }

    /// A path in which the characters with a meaning in SQLite's `file:` URIs are percent-encoded.
    private static func escaped(_ path: String) -> String {
        var text = ""
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"), ...0x20, 0x7F...:
                text += "%" + Hex.encode([byte])
            default: text.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return text
    }
}

/// Runs a call of the file system for the index.
private func filed<Value>(_ body: () throws(Errno) -> Value) throws(IndexError) -> Value {
    do throws(Errno) { return try body() } catch { throw .file(error) }
}
