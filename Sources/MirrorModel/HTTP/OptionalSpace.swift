/// Whether a byte is optional white space (RFC 9110 §5.6.3).
func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

extension StringProtocol {
    /// The text without spaces and tabs at its ends (RFC 9110 §5.6.3, optional whitespace).
    func trimmingSpaces() -> String {
        let bytes = Array(utf8.drop(while: isBlank))
        let length = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? 0
        return String(decoding: bytes[..<length], as: UTF8.self)
    }
}
