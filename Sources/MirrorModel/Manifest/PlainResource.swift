/// The values that all plain resources of a manifest share.
///
/// A plain resource declares only a path, a URL, a size, a sha256 and a refresh. Nearly all
/// resources of very long manifests are plain, and the table takes them over as bytes.
package struct PlainResources: Sendable {
    let authority: Int
    /// The base's path up to its last slash.
    let folder: [UInt8]
    let pinnedTraits: Int
    let unpinnedTraits: Int
}

/// One plain resource, as bytes that are checked before they are taken over.
package struct PlainResource {
    /// The target.
    package var path: UnsafeBufferPointer<UInt8>
    /// The URL, relative to the base.
    package var reference: UnsafeBufferPointer<UInt8>
    /// Bytes; nil when not declared.
    package var size: Int64?
    /// 64 hexadecimal digits; nil when not declared.
    package var sha256: UnsafeBufferPointer<UInt8>?
    /// The line of the manifest in which the resource begins.
    package var line: Int
    /// The column in that line.
    package var column: Int

    /// Takes the bytes as they are.
    package init(
        path: UnsafeBufferPointer<UInt8>, reference: UnsafeBufferPointer<UInt8>, size: Int64?,
        sha256: UnsafeBufferPointer<UInt8>?, line: Int, column: Int
    ) {
        self.path = path
        self.reference = reference
        self.size = size
        self.sha256 = sha256
        self.line = line
        self.column = column
    }
}
