extension String {
    /// Text from bytes; nil where they are not UTF-8.
    ///
    /// Nearly all texts of indexes and heads are ASCII, which needs no validating; the standard library's
    /// `init(validating:as:)` takes ten times as long for a short one.
    package init?(sound bytes: UnsafeBufferPointer<UInt8>) {
        if bytes.reduce(0, |) < 0x80 {
            self.init(decoding: bytes, as: UTF8.self)
        } else {
            self.init(validating: bytes, as: UTF8.self)
        }
    }

    /// As above.
    package init?(sound bytes: [UInt8]) {
        guard let text = bytes.withUnsafeBufferPointer({ String(sound: $0) }) else { return nil }
        self = text
    }
}
