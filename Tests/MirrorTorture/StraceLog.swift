internal import MirrorTestSupport

/// The calls in a log of strace(1), made whole where another thread's call came in between.
struct StraceLog {
    /// A call, its arguments as they are printed, and what it returned.
    struct Call {
        let name: String
        let arguments: [String]
        let result: String

        /// Whether the flags of an open ask for more than reading.
        var opensForWriting: Bool {
            let flags = arguments.dropFirst().joined(separator: " ")
            return name == "creat"
                || ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"].contains {
                    flags.contains($0)
                }
        }

        /// The place of the file that a call opened; nil when it failed or opens none.
        var opened: String? { StraceLog.path(ofDescriptor: result) }
    }

    private var lines: ArraySlice<Substring>
    private var unfinished: [Substring: Substring] = [:]
    /// Where descriptors led when they were opened last.
    private var descriptors: [Substring: String] = [:]
    private var folder = "/"

    init(_ text: String) { lines = text.split(separator: "\n")[...] }

    /// The next call; nil after the last.
    mutating func next() -> Call? {
        while let line = lines.popFirst() {
            guard let space = line.firstIndex(of: " ") else { continue }
            let thread = line[..<space]
            var text = line[space...].drop { $0 == " " }
            if text.hasSuffix("<unfinished ...>") {
                unfinished[thread] = text.dropLast("<unfinished ...>".count)
                continue
            }
            if text.hasPrefix("<... "), let end = text.firstRange(of: " resumed>"),
                let begin = unfinished.removeValue(forKey: thread)
            {
                text = begin + text[end.upperBound...]
            }
            guard let call = StraceLog.call(text) else { continue }
            for argument in call.arguments where argument.hasPrefix("AT_FDCWD<") {
                folder = StraceLog.path(ofDescriptor: argument) ?? folder
            }
            if let opened = call.opened {
                descriptors[call.result.prefix { $0.isNumber }] = opened
            }
            return call
        }
        return nil
    }

    /// The absolute path that arguments of a call name, without `.` and `..`.
    func path(of call: Call, folder index: Int?, name: Int) -> String? {
        guard call.arguments.indices.contains(name) else { return nil }
        var base = folder
        if let index, let known = StraceLog.path(ofDescriptor: call.arguments[index]) {
            base = known
        }
        guard var text = StraceLog.unquoted(call.arguments[name]) else { return base }
        let magic = "/proc/self/fd/"
        if text.hasPrefix(magic) {
            let rest = text.dropFirst(magic.count)
            let number = rest.prefix { $0 != "/" }
            guard let known = descriptors[number] else { return text }
            text = known + rest.dropFirst(number.count)
        }
        return StraceLog.normal(text.hasPrefix("/") ? text : base + "/" + text)
    }

    private static func call(_ text: Substring) -> Call? {
        guard let open = text.firstIndex(of: "("), let equals = text.ranges(of: ") ").last,
            let sign = text[equals.lowerBound...].firstIndex(of: "=")
        else { return nil }
        let result = text[text.index(after: sign)...].drop { $0 == " " }
        return Call(
            name: String(text[..<open]),
            arguments: arguments(text[text.index(after: open)..<equals.lowerBound]),
            result: String(result))
    }

    /// Splits at the commas that are outside of quotation marks, brackets and braces.
    private static func arguments(_ text: Substring) -> [String] {
        var arguments = [""]
        var depth = 0
        var isQuoted = false
        var isEscaped = false
        for character in text {
            if isQuoted {
                if isEscaped {
                    isEscaped = false
                } else if character == "\\" {
                    isEscaped = true
                } else if character == "\"" {
                    isQuoted = false
                }
            } else {
                switch character {
                case "\"": isQuoted = true
                case "<", "{", "[": depth += 1
                case ">", "}", "]": depth -= 1
                case "," where depth == 0:
                    arguments.append("")
                    continue
                case " " where arguments.last == "": continue
                default: break
                }
            }
            arguments[arguments.count - 1].append(character)
        }
        // Where a call was cut in two, a space is left before what follows.
        return arguments.map(\.trimmed)
    }

    /// The path in `5</path>`.
    private static func path(ofDescriptor text: String) -> String? {
        guard let open = text.firstIndex(of: "<"), let close = text.lastIndex(of: ">"),
            open < close, text[..<open] == "AT_FDCWD" || Int(text[..<open]) != nil
        else { return nil }
        return unescaped(text[text.index(after: open)..<close])
    }

    private static func unquoted(_ text: String) -> String? {
        guard text.hasPrefix("\""), text.hasSuffix("\""), text.count > 1 else { return nil }
        return unescaped(text.dropFirst().dropLast())
    }

    /// C escapes as strace writes them: a letter, or up to three octal digits.
    private static func unescaped(_ text: Substring) -> String {
        let letters: [UInt8: UInt8] = [0x6E: 10, 0x74: 9, 0x72: 13, 0x76: 11, 0x66: 12]
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let next = rest.popFirst() else {
                bytes.append(byte)
                continue
            }
            guard (0x30...0x37).contains(next) else {
                bytes.append(letters[next] ?? next)
                continue
            }
            var value = Int(next - 0x30)
            for _ in 0..<2 {
                guard let digit = rest.first, (0x30...0x37).contains(digit) else { break }
                value = value * 8 + Int(digit - 0x30)
                rest.removeFirst()
            }
            bytes.append(UInt8(truncatingIfNeeded: value))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func normal(_ path: String) -> String {
        var components: [Substring] = []
        for component in path.split(separator: "/") where component != "." {
            if component == ".." { _ = components.popLast() } else { components.append(component) }
        }
        return "/" + components.joined(separator: "/")
    }
}
