internal import Glibc
internal import MirrorFuzzing

/// Tries a parser, which MIRROR_FUZZ names, on inputs.
///
/// Built as usual it reads each file that is named and says what does not hold. Built for fuzzing
/// (scripts/torture R17 does that) it is libFuzzer, with libFuzzer's options, and invents the inputs.
enum FuzzCommand {
    /// The parser that is asked for. When none is, lists them with the greatest length of an input
    /// and the word list, and ends the program.
    static func parser() -> FuzzedParser {
        let known = FuzzedParser.all.map(\.name).joined(separator: ", ")
        guard let name = getenv("MIRROR_FUZZ").map({ String(cString: $0) }) else {
            for parser in FuzzedParser.all {
                print(parser.name, parser.longest, parser.dictionary ?? "")
            }
            // Not exit(3): in a build for fuzzing it would look for leaks of this very list.
            fflush(nil)
            _exit(0)
        }
        guard let parser = FuzzedParser.named(name) else { fail("\(name) is none of \(known)") }
        return parser
    }

    fileprivate static func isFlawed(_ path: String, _ parser: FuzzedParser) -> Bool {
        guard let file = fopen(path, "rb") else { fail("\(path) cannot be read") }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = getc(file), byte != EOF {
            bytes.append(UInt8(truncatingIfNeeded: byte))
        }
        guard let flaw = parser.flaw(bytes) else { return false }
        print("\(path): \(flaw)")
        return true
    }

    private static func fail(_ message: String) -> Never {
        let line = Array("mirror-fuzz: \(message)\n".utf8)
        _ = write(2, line, line.count)
        exit(64)
    }
}

#if !FUZZING
    @main extension FuzzCommand {
        static func main() {
            let parser = parser()
            let flaws = CommandLine.arguments.dropFirst().filter { isFlawed($0, parser) }
            exit(flaws.isEmpty ? 0 : 1)
        }
    }
#endif
