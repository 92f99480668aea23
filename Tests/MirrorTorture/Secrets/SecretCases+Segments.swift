internal import MirrorTestSupport

/// Further connections, which are led on by themselves: under a pin, a mirror's may be.
extension SecretCase {
    /// Enough for two connections.
    static let large = TestBytes.make(8_000_000, seed: 13)
    private static let digest = Checksum.sha256(large)

    static let segments: [SecretCase] = [
        divided("a segment of a mirror") { $0.routes["B /b"] = "large" },
        divided("a segment that is sent on within its origin") {
            $0.routes["B /b"] = "302 /c"
            $0.routes["B /c"] = "large"
            $0.seen[.second] = ["B /b", "B /c"]
        },
        divided("a segment that is sent to another origin") {
            $0.routes["B /b"] = "302 %P%/p"
            $0.routes["P /p"] = "large"
        },
        divided("a segment that is sent to another origin, and on within it") {
            $0.routes["B /b"] = "302 %P%/p"
            $0.routes["P /p"] = "302 /q"
            $0.routes["P /q"] = "large"
        },
        divided("a segment that is sent to another origin and back") {
            $0.routes["B /b"] = "302 %P%/p"
            $0.routes["P /p"] = "302 %B%/c"
            $0.routes["B /c"] = "large"
        },
    ]

    /// A pinned file of two connections: one to its source, one to a mirror with a token of its own.
    private static func divided(
        _ title: String, _ change: (inout SecretCase) -> Void
    ) -> SecretCase {
        withToken(title) {
            $0.resources = [
                "\"url\":\"%A%/a\",\(bearer),\"size\":\(large.count),\"sha256\":\"\(digest)\","
                    + "\"mirrors\":[{\"url\":\"%B%/b\",\"headers\":{\"X-Key\":\"${SECOND}\"}}]"
            ]
            $0.options += ["--env", "SECOND@%B%", "--segments", "2"]
            $0.routes = ["A /a": "large"]
            $0.seen[.second] = ["B /b"]
            change(&$0)
        }
    }
}
