internal import MirrorModel

/// Rows of `intents` and `batches`: promotions that are under way.
enum IntentRows {
    private static let columns =
        "kind, staged, aside, staged_inode, replaces, \(Schema.recordColumns)"
    private static let insertion =
        "INSERT INTO intents (\(columns)) VALUES (?, ?, ?, ?, ?, \(Schema.recordParameters))"

    /// Writes an intent of a set; returns its number.
    static func put(
        _ intent: PromotionIntent, in database: inout Database
    ) throws(IndexError) -> Int64 {
        try database.execute(insertion) { $0.add(intent) }
        return database.lastRow
    }

    /// Writes the intents of a batch as one value; returns the batch's number.
    static func put(batch intents: [PromotionIntent], in database: inout Database)
        throws(IndexError) -> Int64
    {
        var packed = PackedWriter()
        for intent in intents { packed.add(intent) }
        return try put(batch: packed, in: &database)
    }

    /// Writes packed intents as one value; returns the number of their batch.
    static func put(
        batch intents: PackedWriter, in database: inout Database
    ) throws(IndexError) -> Int64 {
        try intents.withBytes { (bytes) throws(IndexError) in
            try database.execute("INSERT INTO batches (intents) VALUES (?)") {
                $0.add(lasting: bytes, isText: false)
            }
        }
        return database.lastRow
    }

    /// The intents that were not settled, in the order in which they were written: those of batches
    /// before those of sets.
    static func intents(in database: inout Database) throws(IndexError) -> [PromotionIntent] {
        try intentsOfBatches(in: &database)
            + database.all("SELECT id, \(columns) FROM intents ORDER BY id") {
                (row: inout Row) throws(IndexError) in
                let id = try row.int()
                var intent = try row.intent()
                intent.id = id
                return intent
            }
    }

    private static func intentsOfBatches(
        in database: inout Database
    ) throws(IndexError) -> [PromotionIntent] {
        var intents: [PromotionIntent] = []
        try database.rows("SELECT intents FROM batches ORDER BY id") {
            (row: inout Row) throws(IndexError) in
            var packed = try PackedReader(try row.blob())
            while !packed.isAtEnd {
                intents.append(
                    packed.hasFormerRecords
                        ? try packed.intent { (columns: inout PackedReader) throws(IndexError) in
                            try columns.formerRecord()
                        } : try packed.intent())
            }
        }
        return intents
    }

    /// Forgets the intents of a batch.
    static func removeBatch(_ number: Int64, in database: inout Database) throws(IndexError) {
        try database.execute("DELETE FROM batches WHERE id = ?") { $0.add(number) }
    }

    /// Forgets the intents of all batches, when all were settled.
    static func removeBatches(in database: inout Database) throws(IndexError) {
        try database.execute("DELETE FROM batches")
    }

    /// Forgets intents of sets that were settled.
    ///
    /// Intents of one set have consecutive numbers; one statement removes them.
    static func remove(_ numbers: [Int64], in database: inout Database) throws(IndexError) {
        var rest = numbers.sorted()[...]
        while let first = rest.first {
            let end = rest.indices.first { rest[$0] - first != $0 - rest.startIndex }
            let last = rest[(end ?? rest.endIndex) - 1]
            try database.execute("DELETE FROM intents WHERE id BETWEEN ? AND ?") {
                $0.add(first)
                $0.add(last)
            }
            rest = rest[(end ?? rest.endIndex)...]
        }
    }
}

extension ColumnWriter where Self: ~Copyable {
    /// Adds the columns of an intent without its number.
    mutating func add(_ intent: PromotionIntent) {
        addIntent(
            intent.kind, staged: intent.staged, aside: intent.aside, inode: intent.stagedInode,
            replaces: intent.replaces)
        add(intent.record, stamp: intent.record.stamp)
    }

    /// Adds the columns of an intent that stand before those of its row.
    mutating func addIntent(
        _ kind: PromotionIntent.Kind, staged: String, aside: String?, inode: UInt64, replaces: Bool
    ) {
        add(kind.rawValue)
        add(staged)
        add(aside)
        add(Int64(bitPattern: inode))
        add(replaces ? 1 : 0)
    }
}

extension ColumnReader {
    /// Reads the columns of an intent without its number.
    fileprivate mutating func intent() throws(IndexError) -> PromotionIntent {
        try intent { (columns: inout Self) throws(IndexError) in try columns.record() }
    }

    /// The same, with a record that is read by a closure.
    fileprivate mutating func intent(
        record: (inout Self) throws(IndexError) -> IndexRecord
    ) throws(IndexError) -> PromotionIntent {
        guard let kind = PromotionIntent.Kind(rawValue: try text()) else { throw nonsense() }
        return PromotionIntent(
            kind: kind, staged: try placePath(), aside: try optionalPlacePath(),
            stagedInode: UInt64(bitPattern: try int()), replaces: try int() != 0,
            record: try record(&self))
    }

    /// A column that holds the path of a target or of a part, or NULL.
    mutating func optionalPlacePath() throws(IndexError) -> String? {
        guard let path = try optionalText() else { return nil }
        switch Target.flaw(in: path) {
        case nil, .partName: return path
        case .longPath where HiddenName.isHidden(PathText.name(of: path)):
            // It is longer than the path of the target that it stands beside.
            guard Target.flaw(in: PathText.folder(of: path) + "/f") == nil else {
                throw nonsense()
            }
            return path
        default: throw nonsense()
        }
    }

    mutating func placePath() throws(IndexError) -> String {
        guard let path = try optionalPlacePath() else { throw nonsense() }
        return path
    }
}
