internal import MirrorModel

/// One thing that the promotion thread does.
enum PromotionWork: Sendable {
    /// Verified bytes get their final name.
    case land(Landing, @Sendable (LandingResult) -> Void)
    /// A row changes and the file does not: a 304, or a file whose bytes were found to be right.
    case confirm(Confirmed, @Sendable (MirrorError?) -> Void)
    /// A file that mirror put there, unchanged since, goes with its row.
    case remove(Removal, @Sendable (MirrorError?) -> Void)

    /// The bytes that wait in memory for it.
    var bytesInMemory: Int {
        if case .land(let landing, _) = self { return landing.bytesInMemory }
        return 0
    }

    /// Tells whoever waits that nothing came of it.
    func fail(_ error: MirrorError) {
        switch self {
        case .land(_, let completion): completion(.failed(error))
        case .confirm(_, let completion), .remove(_, let completion): completion(error)
        }
    }
}

/// A row for a file that stays as it is.
struct Confirmed: Sendable {
    /// The row.
    let record: IndexRecord
    /// Whether mirror did not write the file itself, so that its bytes must be flushed first.
    let isAdoption: Bool
    /// The permissions that the file is given, where the manifest's wish changed.
    var mode: UInt32?
}

/// A file to be removed.
struct Removal: Sendable {
    /// The file.
    let target: Target
    /// Its stamp when it was decided; another stamp has its bytes held against the row.
    let stamp: FileStamp?
}
