extension SourceURL {
    /// The reference to a name beneath a folder, in which no byte has a meaning but the slash.
    package static func reference(toName name: String) -> String {
        var text = Array("./".utf8)
        for byte in name.utf8 {
            // Servers exist that take a plus sign for a space, as S3 does; apt escapes it too.
            if PercentEncoding.isPathByte(byte), byte != UInt8(ascii: "+") {
                text.append(byte)
            } else {
                PercentEncoding.append(byte, to: &text)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// A value of a query, in which no byte has a meaning of its own.
    package static func queryValue(_ text: String) -> String {
        var value: [UInt8] = []
        for byte in text.utf8 {
            let isPlain = PercentEncoding.isPathByte(byte) && !"+&=;".utf8.contains(byte)
            if isPlain { value.append(byte) } else { PercentEncoding.append(byte, to: &value) }
        }
        return String(decoding: value, as: UTF8.self)
    }

    /// The text with each `%XX` replaced by its byte; nil if the bytes are no UTF-8.
    package static func decoded(_ text: some StringProtocol) -> String? {
        String(validating: PercentEncoding.decode(Array(text.utf8)), as: UTF8.self)
    }
}
