/// A tar archive of one small file (POSIX ustar).
public enum TarFile {
    /// The bytes of the archive.
    public static func of(_ name: String, _ text: String) -> [UInt8] {
        let content = Array(text.utf8)
        var head = [UInt8](repeating: 0, count: 512)
        put(name, at: 0, in: &head)
        put("0000644\0", at: 100, in: &head)
        put("0000000\0", at: 108, in: &head)
        put("0000000\0", at: 116, in: &head)
        put(octal(content.count, 11) + "\0", at: 124, in: &head)
        put(octal(0, 11) + "\0", at: 136, in: &head)
        put("        ", at: 148, in: &head)
        put("0", at: 156, in: &head)
        put("ustar\u{0}00", at: 257, in: &head)
        let sum = head.reduce(0) { $0 + Int($1) }
        put(octal(sum, 6) + "\0 ", at: 148, in: &head)
        let padding = (512 - content.count % 512) % 512
        return head + content + [UInt8](repeating: 0, count: padding + 1024)
    }

    private static func put(_ text: String, at start: Int, in head: inout [UInt8]) {
        for (offset, byte) in text.utf8.enumerated() { head[start + offset] = byte }
    }

    private static func octal(_ value: Int, _ width: Int) -> String {
        let digits = String(value, radix: 8)
        return String(repeating: "0", count: width - digits.count) + digits
    }
}
