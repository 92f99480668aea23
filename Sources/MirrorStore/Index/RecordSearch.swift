internal import CSQLite
internal import MirrorModel

/// The search for the records of many targets.
///
/// Those that a run asks for together are mostly neighbours, so that the next one is the next row; to
/// search for each costs three times as much. So the rows are walked as long as that finds targets, and
/// targets that lie apart are searched for, several at a time.
struct RecordSearch {
    /// How many records one statement looks for: to begin and end a statement costs more than a row.
    private static let mostAtOnce = 16
    private static let severalRecords: String = {
        let wanted = (0..<mostAtOnce).map { "(\($0), ?)" }.joined(separator: ", ")
        return """
            WITH wanted (number, target) AS (VALUES \(wanted))
            SELECT number, \(Schema.recordColumns) FROM wanted CROSS JOIN files ON path = target
            """
    }()
    /// A walk of fewer targets has cost more than a search for each: the next ones are searched for.
    private static let shortestWalk = 8

    private let targets: [Target]
    /// What was found of the first targets, in their order.
    private var records: [IndexRecord?] = []

    private init(_ targets: [Target]) {
        self.targets = targets
        records.reserveCapacity(targets.count)
    }

    /// The records of targets, in the order of the list.
    static func records(
        for targets: [Target], in database: inout Database
    ) throws(IndexError) -> [IndexRecord?] {
        var search = RecordSearch(targets)
        while search.records.count < targets.count {
            let before = search.records.count
            try search.walk(&database)
            if search.records.count < targets.count,
                search.records.count - before < shortestWalk
            {
                try search.lookUp(&database)
            }
        }
        return search.records
    }

    /// Finds the records of the next targets, as long as each is at most two rows further on.
    private mutating func walk(_ database: inout Database) throws(IndexError) {
        let first = records.count
        let statement = try database.start(FileRows.everyRowWithRecord) {
            $0.add(targets[first].path)
        }
        defer { sqlite3_reset(statement) }
        var hasRow = try database.step(statement)
        // Behind the last row, the walk stands at one that comes after all targets.
        var known = KnownTexts()
        for at in first..<targets.count {
            let target = targets[at]
            var order = hasRow ? RecordSearch.order(statement, target.path) : 1
            for _ in 1...2 where order < 0 {
                hasRow = try database.step(statement)
                order = hasRow ? RecordSearch.order(statement, target.path) : 1
            }
            // It is further on, or lies behind.
            if order < 0 || order > 0 && at > first && target < targets[at - 1] { return }
            guard order == 0 else {
                records.append(nil)
                continue
            }
            var row = Row(statement: statement)
            records.append(try row.record(of: target, known: &known))
        }
    }

    /// Finds the records of the next targets, each by its path.
    private mutating func lookUp(_ database: inout Database) throws(IndexError) {
        let start = records.count
        let end = min(start + RecordSearch.mostAtOnce, targets.count)
        var found = [IndexRecord?](repeating: nil, count: end - start)
        var known = KnownTexts()
        try database.rows(RecordSearch.severalRecords) { binder in
            for at in start..<(start + RecordSearch.mostAtOnce) {
                binder.add(at < end ? targets[at].path : nil)
            }
        } each: { (row: inout Row) throws(IndexError) in
            let number = Int(try row.int())
            found[number] = try row.record(of: targets[start + number], known: &known)
        }
        records += found
    }

    /// Negative, zero or positive as the row's path comes before, is, or comes after another.
    private static func order(_ statement: OpaquePointer, _ path: String) -> Int {
        let start = sqlite3_column_text(statement, 0)
        let bytes = UnsafeBufferPointer(
            start: start, count: Int(sqlite3_column_bytes(statement, 0)))
        var path = path
        return path.withUTF8 { ByteOrder.compare(bytes, $0) }
    }
}
