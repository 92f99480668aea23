/// Compares bytes as memcmp(3) does, eight at a time where there are eight.
package enum ByteOrder {
    static func commonPrefix(
        _ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>,
        limit: Int = .max
    ) -> Int {
        let end = min(first.count, second.count, limit)
        guard let first = UnsafeRawPointer(first.baseAddress),
            let second = UnsafeRawPointer(second.baseAddress)
        else { return 0 }
        var at = 0
        while at + 8 <= end {
            let left = first.loadUnaligned(fromByteOffset: at, as: UInt64.self).littleEndian
            let right = second.loadUnaligned(fromByteOffset: at, as: UInt64.self).littleEndian
            // The lowest differing bit is in the first differing byte.
            if left != right { return at + (left ^ right).trailingZeroBitCount / 8 }
            at += 8
        }
        while at < end,
            first.load(fromByteOffset: at, as: UInt8.self)
                == second.load(fromByteOffset: at, as: UInt8.self)
        {
            at += 1
        }
        return at
    }

    /// How many bytes at the end of both are equal.
    static func commonSuffix(
        _ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>
    ) -> Int {
        var count = 0
        while count < min(first.count, second.count),
            first[first.count - 1 - count] == second[second.count - 1 - count]
        {
            count += 1
        }
        return count
    }

    /// Negative, zero or positive as the first bytes come before, with or after the second.
    package static func compare(
        _ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>
    ) -> Int {
        let at = commonPrefix(first, second)
        if at == min(first.count, second.count) { return first.count - second.count }
        return Int(first[at]) - Int(second[at])
    }
}
