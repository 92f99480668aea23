/// What the index knows of a file that can be served.
package struct ServedFile: Sendable, Hashable {
    /// Where it is.
    package var target: Target
    /// What the file system said of it when mirror put it there.
    package var stamp: FileStamp
    /// The sha256 of its bytes.
    package var sha256: Digest
    /// The media type that came with it.
    package var mediaType: String?

    package init(target: Target, stamp: FileStamp, sha256: Digest, mediaType: String?) {
        self.target = target
        self.stamp = stamp
        self.sha256 = sha256
        self.mediaType = mediaType
    }

    /// The bytes for an answer.
    ///
    /// - Parameter modified: the modification time of the open file, in nanoseconds.
    package func representation(modified: Int64) -> Representation {
        let sent = mediaType.flatMap { MediaRange($0) }.flatMap { $0.type == "*" ? nil : $0 }
        let known = target.fileExtension.flatMap(Representation.mediaType(ofExtension:))
        return Representation(
            size: stamp.size, sha256: sha256,
            modified: HTTPDate(seconds: modified.dividedDown(by: 1_000_000_000)),
            mediaType: sent?.description ?? known ?? "application/octet-stream")
    }
}

extension Int64 {
    /// The quotient, rounded towards the past.
    fileprivate func dividedDown(by divisor: Int64) -> Int64 {
        self / divisor - (self % divisor < 0 ? 1 : 0)
    }
}
