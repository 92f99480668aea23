extension ResourceTable {
    /// The declared size of one resource; the resource itself is not built.
    package func size(at position: Int) -> Int64? {
        columns.records[position].size
    }

    /// The digest of a resource that declares exactly one; nil for others.
    func onlyDigest(at position: Int) -> Digest? { columns.digest(of: columns.records[position]) }

    /// Whether a recorded version is all that one resource asks for: it declares this size and this
    /// sha256 and no other digest, is to be executable or not as recorded, and is nothing special.
    package func isPlainlySatisfied(
        at position: Int, bySize size: Int64, sha256: UnsafeRawBufferPointer, isExecutable: Bool
    ) -> Bool {
        let record = columns.records[position]
        guard record.rarity == 0, record.digest == .sha256, record.size == size,
            columns.traits.values[Int(record.traits)].isExecutable == isExecutable
        else { return false }
        return columns.withBytes(
            at: record.position, offset: record.pathLength + Int(record.urlLength), count: 32
        ) { known in
            // Eight bytes at a time: this is asked a million times.
            let known = UnsafeRawBufferPointer(known)
            return sha256.count == 32
                && stride(from: 0, to: 32, by: 8).allSatisfy { at in
                    sha256.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                        == known.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                }
        }
    }

    /// When one resource is due that declares no digest and is nothing special; nil for others.
    package func plainRefresh(at position: Int) -> Refresh? {
        let record = columns.records[position]
        guard record.rarity == 0, record.digest == nil else { return nil }
        return columns.traits.values[Int(record.traits)].refresh
    }

    /// When one resource is due that declares no digest, is nothing special, and agrees with a recorded
    /// version in size and mode and about its source; nil for others.
    package func plainRefresh(
        at position: Int, ofSize size: Int64, isExecutable: Bool,
        source: UnsafeBufferPointer<UInt8>
    ) -> Refresh? {
        let record = columns.records[position]
        let traits = columns.traits.values[Int(record.traits)]
        guard record.rarity == 0, record.digest == nil, record.size == nil || record.size == size,
            traits.isExecutable == isExecutable, isURL(of: record, source)
        else { return nil }
        return traits.refresh
    }

    /// Whether bytes are the URL of a resource; that with a query is remembered under another name.
    private func isURL(of record: ResourceRecord, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let shared = Int(record.sharedLength)
        let pathEnd = record.pathLength
        var site = columns.authorities.values[Int(record.authority)].site
        return site.withUTF8 { site in
            guard bytes.count == site.count + Int(record.urlLength) + shared,
                ByteOrder.compare(UnsafeBufferPointer(rebasing: bytes[..<site.count]), site) == 0
            else { return false }
            return columns.withBytes(
                at: record.position, count: pathEnd + Int(record.urlLength)
            ) { known in
                let own = UnsafeBufferPointer(rebasing: known[pathEnd...])
                let common = UnsafeBufferPointer(rebasing: known[(pathEnd - shared)..<pathEnd])
                let end = bytes.count - shared
                let middle = UnsafeBufferPointer(rebasing: bytes[site.count..<end])
                // A question mark ends what path and URL have in common.
                return ByteOrder.compare(middle, own) == 0 && !own.contains(UInt8(ascii: "?"))
                    && ByteOrder.compare(UnsafeBufferPointer(rebasing: bytes[end...]), common) == 0
            }
        }
    }

    /// Compares one resource's path with another path, by bytes: negative, zero or positive.
    package func comparePath(at position: Int, with path: UnsafeBufferPointer<UInt8>) -> Int {
        withPath(at: position) { ByteOrder.compare($0, path) }
    }
}
