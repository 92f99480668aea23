internal import CSQLite
internal import MirrorSystem

/// Where an index is, and how a connection to it is opened.
package struct IndexLocation: Sendable {
    let file: IndexFile
    /// A path, or a URI with parameters.
    let name: String
    let flags: Int32
    /// Holds a private copy as long as it is read.
    let copy: PrivateCopy?
    /// What a connection runs before it reads.
    var preparation = ""

    /// Whether a connection shows what other processes write: neither a copy nor a file that is taken
    /// to stay, nor one of an earlier version, which the next run migrates.
    var isLive: Bool { copy == nil && isWritable && preparation.isEmpty }

    /// Whether SQLite may write to it, as it does even to read beside others.
    private var isWritable: Bool { flags & SQLITE_OPEN_READWRITE != 0 }

    /// Opens a further connection.
    func connect() throws(IndexError) -> Database {
        let database = try Database(name, flags: flags, beneath: file.folder)
        if !preparation.isEmpty { try database.run(preparation) }
        return database
    }
}
