internal import MirrorModel

/// Turns a manifest into text a resource at a time, so that it is never held whole.
protocol ManifestEncoder {
    /// `folder`: what `file:` URLs beneath it are written relative to.
    init(folder: SourceURL?)
    /// How many bytes wait to be taken.
    var pendingBytes: Int { get }
    mutating func begin(_ manifest: Manifest)
    mutating func add(_ resource: Resource)
    mutating func end()
    /// Takes what was written so far.
    mutating func take() -> [UInt8]
}
