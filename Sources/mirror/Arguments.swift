import Glibc

/// The words that the command was started with.
///
/// Swift finds them on the stack beside `environ`, and with the help of /proc/self/maps. A
/// preloaded library that sets a variable moves `environ` away. Swift then finds no words, and a
/// command without words would print its help and succeed.
enum Arguments {
    /// The words after the program's name; nil where they cannot be found.
    static func words(onStack stack: [String] = CommandLine.arguments) -> [String]? {
        // A program always has its own name as the first word, so an empty list means "not found".
        guard stack.isEmpty else { return Array(stack.dropFirst()) }
        guard let bytes = kernelsCopy(), !bytes.isEmpty else { return nil }
        let words = bytes.split(separator: 0, omittingEmptySubsequences: false)
        return words.dropFirst().dropLast().map { String(decoding: $0, as: UTF8.self) }
    }

    /// The kernel's copy of the words, with a NUL after each (proc(5), /proc/pid/cmdline).
    private static func kernelsCopy() -> [UInt8]? {
        guard let file = fopen("/proc/self/cmdline", "re") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while true {
            let block = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
                count = fread(buffer.baseAddress, 1, buffer.count, file)
            }
            if block.isEmpty { return bytes }
            bytes += block
        }
    }
}
