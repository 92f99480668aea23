internal import MirrorTestSupport

/// Names that try to leave the tree, and names that only look as if.
enum HostileNames {
    /// Ways to write `..` that some decoder somewhere takes for it.
    private static let ups = [
        "..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "%c0%ae%c0%ae", "%e0%80%ae%e0%80%ae", "..%00",
        ". .", "\u{FF0E}\u{FF0E}", "\u{2024}\u{2024}", "\u{2025}", "..;", "...", "....",
        "..\u{200B}",
        "%uff0e%uff0e", "..%20", ".. ", "\\..", "..\\", "&#46;&#46;", "%2e%2e%2f..",
    ]
    /// Ways to write `/`.
    private static let slashes = [
        "/", "%2f", "%2F", "%252f", "\\", "%5c", "%c0%af", "%e0%80%af", "\u{2215}", "\u{FF0F}",
        "\u{2044}", "//", "/./", "%00/",
    ]

    /// Every way up with every slash, to a place that exists beside the root.
    static let traversals: [String] = ups.flatMap { up in
        slashes.map { up + $0 + up + $0 + "outside" + $0 + "x" }
    }

    /// Names that are odd in themselves.
    static let odd: [String] =
        [
            "", " ", ".", "..", "...", "/", "//", "\\", "~", "~root", "-", "--help", "-rf", "*",
            "?", "CON",
            "NUL", "aux.txt", "a:b", "C:\\x", "a ", " a", "a.", ".mirror", ".mirror/lock", "lock",
            "index.sqlite", ".git", ".bashrc", "a\u{7F}", "a\u{85}b", "a\u{A0}b", "\u{202E}gpj.exe",
            "\u{FEFF}a", "\u{200B}", "\u{AD}", "é", "e\u{301}", "\u{212A}", "ß", "ẞ", "İ", "ı", "ﬁ",
            "Å",
            "\u{2126}", "\u{1F600}", "\u{10FFFF}", "\u{E000}", "\u{FFFD}", "a\tb", "a\nb", "a\rb",
            "a\u{1B}[2J", "a\u{0}b", "$(id)", "`id`", "${HOME}", "a;b", "a|b", "a&b", "a\"b", "a'b",
            "%",
            "%2", "%zz", "%00", "%0a", "%ff", "%80", "%c3", "%ed%a0%80", "x.part",
            "a.00000000000000000000000000000000.part", "a?b", "a#b", "a%3fb", "a%23b",
            "http://127.0.0.1/x", "file:///etc/passwd", "/etc/passwd", "//etc/passwd",
            "link/x", "link", "lead/x",
        ]
        + [1, 127, 159, 160, 161, 200, 250, 254, 255, 256, 300, 1000, 4095, 4096, 70_000].flatMap {
            [
                String(repeating: "a", count: $0), String(repeating: "é", count: max(1, $0 / 2)),
                String(repeating: "a/", count: max(1, $0 / 2)) + "a",
            ]
        }

    static let all: [String] = odd + traversals

    /// Targets that no manifest may name.
    static let refusedTargets: [String] =
        [
            "", "a", "x/y", "/etc/passwd", "/Caches/a", "../a", "Caches", "Caches/../a",
            "Caches/./a",
            "Caches//a", "Caches/..", "Caches/.", "Documents/a/../../b", "caches/a", "Tmp/a",
            "CACHES/a",
            "Caches/a\u{0}b", "Caches/a\nb", "Caches/\u{1B}[2J", "Caches/\u{7F}", "Caches/\u{85}",
            "Caches/a\rb", "Caches/\tb", ".mirror/lock", ".mirror/index.sqlite", "tmp/x.part",
            "Caches/a/../../../etc/passwd", "./Caches/a", "Caches\\a", "~/Caches/a",
            "Caches/" + String(repeating: "a", count: 256),
            "Caches/" + String(repeating: "é", count: 128), "file:///etc/passwd", "http://h/a",
        ]

    /// Names of a Metalink that stay refused when they are put below `Caches/`.
    static let refusedBeneathCaches: [String] = [
        "/etc/passwd", "../a", "a/../b", "./a", "a//b", "a/..", "..", ".", "a\nb",
        "\u{7F}", String(repeating: "a", count: 256), "tmp/x.part", "Caches/../a",
        "Documents/../../a",
    ]
}
