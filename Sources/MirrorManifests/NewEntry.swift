public import MirrorModel

/// A resource that is written into a manifest: where the file goes, and where it comes from.
public struct NewEntry: Sendable, Hashable {
    /// The target.
    public var target: Target
    /// The source, as it is to be written.
    public var url: SourceURL

    /// Takes both.
    public init(target: Target, url: SourceURL) {
        self.target = target
        self.url = url
    }
}
