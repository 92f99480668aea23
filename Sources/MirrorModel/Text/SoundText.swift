extension String {
    /// Makes text from bytes; nil where they are not UTF-8.
    ///
    /// Nearly all texts of indexes and heads are ASCII, which needs no validation. With the
    /// standard library's `init(validating:as:)` alone, reading a row of the index took twice as
    /// long.
    package init?(sound bytes: UnsafeBufferPointer<UInt8>) {
        if bytes.reduce(0, |) < 0x80 {
            self.init(decoding: bytes, as: UTF8.self)
        } else {
            self.init(validating: bytes, as: UTF8.self)
        }
    }

    /// Whether bytes are UTF-8.
    package static func isSound(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.reduce(0, |) < 0x80 || String(validating: bytes, as: UTF8.self) != nil
    }

    /// Makes text from an array of bytes in the same way.
    package init?(sound bytes: [UInt8]) {
        guard let text = bytes.withUnsafeBufferPointer({ String(sound: $0) }) else { return nil }
        self = text
    }
}
