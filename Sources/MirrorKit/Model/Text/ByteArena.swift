/// The bytes of very many small values, in large blocks instead of one allocation each.
///
/// The arena never moves a block when more bytes arrive. So growing copies no stored bytes, and
/// memory never holds them twice. Reading counts no references. Otherwise threads that read one
/// arena at the same time would wait for each other at every value.
struct ByteArena: Sendable {
    /// The start of each block, and how many of its bytes are in use; `memory` owns the blocks.
    private var blocks: [Block] = []
    private var memory: [Memory] = []
    private static let blockSize = 1 << 20

    private struct Block: @unchecked Sendable {
        // Sendable, because no byte is written twice: an arena adds only to a block that it alone
        // owns.
        let start: UnsafeMutablePointer<UInt8>
        var count = 0
    }

    private final class Memory: @unchecked Sendable {
        // Sendable for the same reason as `Block`.
        let start: UnsafeMutablePointer<UInt8>
        let capacity: Int

        init(_ capacity: Int) {
            self.capacity = capacity
            start = .allocate(capacity: capacity)
        }

        deinit { start.deallocate() }
    }

    /// Where a value begins: the block's number in the upper half, the offset in the lower half.
    typealias Position = UInt64

    /// Makes room in one block for the next `length` bytes, and returns their position.
    mutating func reserve(_ length: Int) -> Position {
        let last = blocks.count - 1
        if last >= 0, blocks[last].count + length <= memory[last].capacity,
            isKnownUniquelyReferenced(&memory[last])
        {
            return Position(last) << 32 | Position(blocks[last].count)
        }
        let made = Memory(max(length, ByteArena.blockSize))
        memory.append(made)
        blocks.append(Block(start: made.start))
        return Position(blocks.count - 1) << 32
    }

    /// Appends bytes to the room that `reserve` has just made.
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let first = bytes.baseAddress else { return }
        let last = blocks.count - 1
        assert(isKnownUniquelyReferenced(&memory[last]))
        precondition(blocks[last].count + bytes.count <= memory[last].capacity)
        (blocks[last].start + blocks[last].count).update(from: first, count: bytes.count)
        blocks[last].count += bytes.count
    }

    /// Adds the blocks of another arena. Returns the number to add to its positions.
    mutating func append(blocksOf other: consuming ByteArena) -> Position {
        let count = blocks.count
        blocks += other.blocks
        memory += other.memory
        return Position(count) << 32
    }

    /// Passes stored bytes to `body`, which must not keep them.
    func withBytes<Result>(
        at position: Position, offset: Int = 0, count: Int,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        let result = body(bytes(at: position, offset: offset, count: count))
        withExtendedLifetime(memory) {}
        return result
    }

    /// Returns stored bytes to a caller that keeps the arena alive while it uses them.
    ///
    /// `withBytes` on an arena that a class stores counts references, because the class could
    /// replace the arena before the body returns.
    @inline(__always)
    func bytes(
        at position: Position, offset: Int = 0, count: Int
    ) -> UnsafeBufferPointer<UInt8> {
        let block = blocks[Int(position >> 32)]
        let start = Int(position & 0xFFFF_FFFF) + offset
        precondition(count >= 0 && start + count <= block.count)
        return UnsafeBufferPointer(start: block.start + start, count: count)
    }

    /// How many bytes of memory the blocks take.
    var footprint: Int { memory.reduce(0) { $0 + $1.capacity } }
}

/// An array in blocks, which grows without moving its elements.
struct BlockArray<Element: Sendable>: Sendable {
    private var blocks: [[Element]] = []
    private(set) var count = 0
    private static var blockSize: Int { 1 << 14 }

    mutating func append(_ element: Element) {
        if count.isMultiple(of: Self.blockSize) {
            var block: [Element] = []
            // The first block starts small. Later blocks have their whole size at once.
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

    /// How many bytes of memory the blocks take.
    var footprint: Int { blocks.reduce(0) { $0 + $1.capacity * MemoryLayout<Element>.stride } }
}
