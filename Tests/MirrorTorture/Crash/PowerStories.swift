internal import MirrorTestSupport

/// Stories for power cuts: more bytes and more files, so that there is something to lose.
extension CrashStory {
    /// Every story that is told where the power can be cut.
    static let underPower = [
        large, small, thousands, renewed, exchanged, divided, fewExchanged,
    ]

    private static func sync(_ ground: CrashGround, _ names: [String]) throws -> [String] {
        let pinned = names.enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
        return ["sync", try ground.manifest(names, pinned: pinned), "--json"]
    }

    private static func done(_ ground: CrashGround, _ words: [String]) throws {
        let result = try ground.run(words)
        guard result.ending == .exited(0) else {
            throw StoryFailure("\(result.ending): \(result.errors.suffix(300))")
        }
    }

    private static let large = CrashStory(name: "large files") { ground in
        let names = ["Caches/a.bin", "Documents/b.bin", "tmp/c.bin"]
        for (at, name) in names.enumerated() { ground.publish(name, 1_500_000 * (at + 1)) }
        return try sync(ground, names)
    }

    private static let small = CrashStory(name: "300 small files") { ground in
        let names = (0..<300).map { "\($0 % 5 == 0 ? "Documents" : "Caches")/s/\($0 / 20)/\($0)" }
        for (at, name) in names.enumerated() { ground.publish(name, at * 30) }
        return try sync(ground, names)
    }

    /// So many that several batches are on their way at once.
    private static let thousands = CrashStory(name: "1,200 small files") { ground in
        let names = (0..<1_200).map { "Caches/m/\($0 / 200)/\($0)" }
        for (at, name) in names.enumerated() { ground.publish(name, 20 + at) }
        return try sync(ground, names)
    }

    private static let renewed = CrashStory(name: "update") { ground in
        let names =
            (0..<60).map { "Caches/u/\($0)" } + [
                "Documents/big.bin", "Caches/big.bin", "tmp/big.bin",
            ]
        for version in 0..<2 {
            for (at, name) in names.enumerated() {
                ground.publish(name, at < 60 ? 400 + at * 70 + version : 700_000 + version)
            }
            if version == 0 { try done(ground, sync(ground, names)) }
        }
        return try sync(ground, names)
    }

    private static let divided = CrashStory(name: "segments") { ground in
        let names = ["Caches/a.bin", "Documents/b.bin"]
        for name in names { ground.publish(name, 3_500_000 + ground.draw(1_000_000)) }
        return try sync(ground, names) + ["--segments", "3"]
    }

    private static let exchanged = CrashStory(name: "exchange in Documents") { ground in
        let names = (0..<30).map { "Documents/e/\($0).bin" }
        for name in names { ground.publish(name, 5000 + ground.draw(90_000)) }
        try done(ground, sync(ground, names))
        for name in names { ground.publish(name, 5000 + ground.draw(90_000)) }
        for name in names.prefix(12) { try ground.edit(name, 3000 + ground.draw(80_000)) }
        return try sync(ground, names)
    }

    /// So few that each is flushed by itself: then nothing but their own flush makes the intents last.
    private static let fewExchanged = CrashStory(name: "a few exchanges") { ground in
        let names = (0..<6).map { "Documents/f/\($0).bin" }
        for name in names { ground.publish(name, 5000 + ground.draw(90_000)) }
        try done(ground, sync(ground, names))
        for name in names { ground.publish(name, 5000 + ground.draw(90_000)) }
        for name in names.prefix(4) { try ground.edit(name, 3000 + ground.draw(80_000)) }
        return try sync(ground, names)
    }
}
