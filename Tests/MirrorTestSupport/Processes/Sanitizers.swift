internal import Glibc

/// The run-time checks that a program may be built with, as the environment tells of them.
///
/// Tests give every program a whole environment of its own; what tells a sanitizer where its reports
/// go is the one thing that goes along.
public enum Sanitizers {
    /// What programs under test get from this process's environment.
    package static let environment: [String: String] = {
        var found: [String: String] = [:]
        for name in ["TSAN_OPTIONS", "ASAN_OPTIONS"] {
            if let value = getenv(name) { found[name] = String(cString: value) }
        }
        // ThreadSanitizer writes a file before main, past what a test allows; it can do without.
        if found["TSAN_OPTIONS"] != nil { found["TEST_TMPDIR"] = nowhere }
        return found
    }()

    /// Whether the tests run under a sanitizer, which multiplies the time and memory of everything.
    public static let areOn = !environment.isEmpty

    /// The most bytes of freed memory that AddressSanitizer keeps to itself (`quarantine_size_mb`).
    public static let freedMemory = environment["ASAN_OPTIONS"] == nil ? 0 : 256 << 20

    /// Whether a path is one at which only a sanitizer tries to make a file, in vain.
    package static func isOwn(_ path: String) -> Bool { areOn && path.hasPrefix(nowhere + "/") }

    private static let nowhere = "/nonexistent"
}
