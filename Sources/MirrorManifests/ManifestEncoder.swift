internal import MirrorModel

/// Turns a manifest into text a resource at a time, so that memory never holds the whole text.
protocol ManifestEncoder {
    /// The number of bytes that wait to be taken.
    var pendingBytes: Int { get }
    mutating func begin(_ manifest: Manifest)
    mutating func add(_ resource: Resource)
    mutating func end()
    /// Takes the bytes that were written so far.
    mutating func take() -> [UInt8]
}
