/// The bytes of very many small values, kept in large blocks instead of one allocation each.
///
/// The arena never moves a block when more bytes arrive. So growing copies no stored bytes, and at
/// no moment does memory hold them twice.
struct ByteArena: Sendable {
    private var blocks: [[UInt8]] = []
    private static let blockSize = 1 << 20

    /// Where a value begins: the block in the upper half, the offset in the lower.
    typealias Position = UInt64

    /// Makes room in one block for the next `length` bytes, and returns their position.
    mutating func reserve(_ length: Int) -> Position {
        if let last = blocks.last, last.count + length <= last.capacity {
            return Position(blocks.count - 1) << 32 | Position(last.count)
        }
        var block: [UInt8] = []
        block.reserveCapacity(max(length, ByteArena.blockSize))
        blocks.append(block)
        return Position(blocks.count - 1) << 32
    }

    /// Appends bytes to the reserved room.
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        blocks[blocks.count - 1].append(contentsOf: bytes)
    }

    /// Takes over the blocks of another arena; returns the number to add to its positions here.
    mutating func append(blocksOf other: consuming ByteArena) -> Position {
        defer { blocks += other.blocks }
        return Position(blocks.count) << 32
    }

    /// Lends bytes that were appended.
    func withBytes<Result>(
        at position: Position, offset: Int = 0, count: Int,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        let start = Int(position & 0xFFFF_FFFF) + offset
        return blocks[Int(position >> 32)].withUnsafeBufferPointer { block in
            body(UnsafeBufferPointer(rebasing: block[start..<(start + count)]))
        }
    }

    /// The bytes that the blocks take up.
    var footprint: Int { blocks.reduce(0) { $0 + $1.capacity } }
}

/// An array in blocks, which grows without moving its elements.
struct BlockArray<Element: Sendable>: Sendable {
    private var blocks: [[Element]] = []
    private(set) var count = 0
    private static var blockSize: Int { 1 << 14 }

    mutating func append(_ element: Element) {
        if count.isMultiple(of: Self.blockSize) {
            var block: [Element] = []
            // A small table stays small; from the second block on, blocks are whole.
            if count > 0 { block.reserveCapacity(Self.blockSize) }
            blocks.append(block)
        }
        blocks[blocks.count - 1].append(element)
        count += 1
    }

    /// Appends the elements of another array.
    ///
    /// Each of its blocks is freed once it has been copied, unless another value shares it.
    mutating func append(
        contentsOf other: consuming BlockArray, _ change: (Element) -> Element = { $0 }
    ) {
        for number in other.blocks.indices {
            let block = other.blocks[number]
            other.blocks[number] = []
            for element in block { append(change(element)) }
        }
    }

    subscript(position: Int) -> Element {
        get { blocks[position >> 14][position & (Self.blockSize - 1)] }
        set { blocks[position >> 14][position & (Self.blockSize - 1)] = newValue }
    }

    /// The bytes that the blocks take up.
    var footprint: Int { blocks.reduce(0) { $0 + $1.capacity * MemoryLayout<Element>.stride } }
}
