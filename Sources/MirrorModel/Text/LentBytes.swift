/// Bytes that can be looked at in one piece: those of a string, of an array, or of somebody else's
/// memory.
protocol LentBytes {
    /// Lends the bytes; they are not valid afterwards.
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result
}

extension String: LentBytes {
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        var text = self
        return text.withUTF8(body)
    }
}

extension [UInt8]: LentBytes {
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        withUnsafeBufferPointer(body)
    }
}

extension UnsafeBufferPointer<UInt8>: LentBytes {
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        body(self)
    }
}
