internal import Glibc
import MirrorTestSupport

/// The disk that lies: a library that programs under test are started with (`LD_PRELOAD`).
///
/// It is compiled once, beside the programs under test, and not a product of the package: users of
/// the library have no use for it.
enum LyingDisk {
    /// The library's path, or why there is none.
    static let library = Result { () throws(StoryFailure) in try built() }

    /// The library's path. Throws why it could not be compiled.
    static func path() throws -> String { try library.get() }

    private static func built() throws(StoryFailure) -> String {
        let source = #filePath.split(separator: "/").dropLast(2).map { "/" + $0 }.joined()
        let library = BuiltProgram.path(of: "liblying-disk.so")
        // Two test processes may compile at the same time: a rename is seen whole or not at all.
        let draft = "\(library).\(getpid())"
        let words = [
            "clang", "-shared", "-fPIC", "-O2", "-o", draft,
            source + "/LyingDisk/lying_disk.c", "-ldl", "-lpthread",
        ]
        let result: Command.Result
        // Where swift builds, its compiler for C is at hand.
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        do { result = try Command.run("/usr/bin/env", words, environment: ["PATH": path]) } catch {
            throw StoryFailure("the lying disk was not compiled: \(error)")
        }
        guard result.ending == .exited(0), rename(draft, library) == 0 else {
            throw StoryFailure("the lying disk was not compiled: \(result.errors.suffix(300))")
        }
        return library
    }
}
