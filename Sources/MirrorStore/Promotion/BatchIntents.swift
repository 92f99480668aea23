internal import MirrorModel

/// The intents of works that are promoted together, as the index has them.
///
/// Those of a batch are one value. Those of a set are rows, which its journal names by their numbers.
/// A name that a server chose is proposed, and settled, together with its intent.
struct BatchIntents {
    /// The intents of a batch, with the rows that its files will have; of a set none.
    private(set) var packed = PackedWriter()
    /// The number under which the index has the intents of a batch; nil before, and for a set.
    private var number: Int64?

    /// Writes the intents of a batch in one transaction.
    mutating func write(_ staged: [StagedFile?], to index: Index) throws(IndexError) {
        // Most intents are shorter.
        var intents = PackedWriter(room: staged.count * 448)
        for case let item? in staged { item.pack(into: &intents) }
        packed = intents
        number = try index.write { (batch: inout Database) throws(IndexError) in
            for case let item? in staged { try ServerNameRows.propose(item.landing, in: &batch) }
            return try IntentRows.put(batch: intents, in: &batch)
        }
    }

    /// Forgets the intents, except those of works that are not settled.
    func forget(
        _ staged: [StagedFile?], except unsettled: Set<Int>, in database: inout Database
    ) throws(IndexError) {
        for at in staged.indices {
            guard let item = staged[at], item.landing.serverName != nil, !unsettled.contains(at)
            else { continue }
            try ServerNameRows.settle(
                item.landing.target, isThere: item.placed != nil, in: &database)
        }
        if let number {
            try IntentRows.removeBatch(number, in: &database)
            let left = unsettled.sorted().compactMap { staged[$0]?.intent }
            if !left.isEmpty { _ = try IntentRows.put(batch: left, in: &database) }
        } else {
            try IntentRows.remove(
                staged.indices.compactMap { unsettled.contains($0) ? nil : staged[$0]?.number },
                in: &database)
        }
    }
}
