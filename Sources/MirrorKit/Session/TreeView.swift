internal import MirrorStore

/// A root and its index for reading; either may not be there yet.
struct TreeView: Sendable {
    let root: RootDirectory?
    let index: Index?

    /// Whether both are there.
    var isThere: Bool { root != nil && index != nil }
}
