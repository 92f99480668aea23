/// Hashes of requests, to find requests that may be the same.
enum RequestHash {
    /// The hash of a method and a URL, of whose authority there is a hash; path and query come in two
    /// halves, split anywhere.
    static func value(
        _ method: RequestMethod, _ serverHash: Int,
        _ first: Slice<UnsafeBufferPointer<UInt8>>,
        _ second: Slice<UnsafeBufferPointer<UInt8>>
    ) -> Int {
        var hasher = Hasher()
        hasher.combine(method)
        hasher.combine(serverHash)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: first.count + second.count) {
            text in
            let end = text[...].update(fromContentsOf: first)
            _ = text[end...].update(fromContentsOf: second)
            hasher.combine(bytes: UnsafeRawBufferPointer(text))
        }
        return hasher.finalize()
    }
}
