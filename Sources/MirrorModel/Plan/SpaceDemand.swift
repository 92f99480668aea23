/// The bytes that a plan writes to one file system, compared with the free space there.
///
/// An unknown size counts as nothing. But if fewer bytes are left than must stay free, there is no
/// room for a file of unknown size either.
package struct SpaceDemand: Sendable, Hashable {
    /// Bytes, as far as they are known.
    package private(set) var bytes: Int64 = 0
    private var unknown = 0
    private var files = 0
    private var first: Target?

    /// Nothing yet.
    package init() {}

    /// Adds a file and the number of bytes that will be written for it; nil is not known.
    package mutating func add(_ bytes: Int64?, for target: @autoclosure () -> Target) {
        if bytes == 0 { return }
        if first == nil { first = target() }
        files += 1
        if let bytes { self.bytes = self.bytes.addingSaturated(bytes) } else { unknown += 1 }
    }

    /// Makes room for one more file for a while: the largest of those that pass through.
    package mutating func passThrough(_ bytes: Int64?, for target: @autoclosure () -> Target) {
        if bytes == 0 { return }
        if first == nil { first = target() }
        files += 1
        if let bytes { self.bytes = max(self.bytes, bytes) } else { unknown += 1 }
    }

    /// Why it does not fit; nil when it does.
    ///
    /// - Parameters:
    ///   - place: the file system, as people know it: a folder on it.
    ///   - available: bytes that may still be written there.
    ///   - least: bytes that stay free.
    package func refusal(at place: String, available: Int64, least: Int64) -> MirrorError? {
        guard let first, available < bytes.addingSaturated(least) else { return nil }
        let others = files - 1
        let more = others > 0 ? " and \(Counted(others, "more file"))" : ""
        let size = bytes > 0 ? "\(ByteCount(bytes))" : ""
        let open = unknown > 0 ? "\(unknown) of unknown size" : ""
        let sizes = [size, open].filter { !$0.isEmpty }.joined(separator: " + ")
        return MirrorError(
            .spaceLimit,
            "\(first)\(more): no room for \(sizes): \(place) has \(ByteCount(available)) left, and \(ByteCount(least)) stay free.",
            target: first, remedy: Remedy(.freeSpace))
    }
}
