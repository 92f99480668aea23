/// The name of a wheel: `name-version(-build)?-python-abi-platform.whl`.
///
/// Source: https://packaging.python.org/en/latest/specifications/binary-distribution-format/
struct WheelName: Sendable, Hashable {
    /// The project's normalized name and the version, as one text.
    let release: String
    /// The build number with the rest of the build tag. A greater one is preferred.
    let build: Build
    /// What the file name says of Python, its ABI and the platform; each may have several tags.
    let pythons: [String]
    let abis: [String]
    let platforms: [String]

    /// A build tag: a number, and text that follows it.
    struct Build: Sendable, Hashable, Comparable {
        var number: Int = -1
        var rest = ""

        static func < (left: Build, right: Build) -> Bool {
            (left.number, left.rest) < (right.number, right.rest)
        }
    }

    /// Reads a file name. Returns nil if it is not that of a wheel.
    init?(_ file: String) {
        guard file.hasSuffix(".whl") else { return nil }
        let parts = file.dropLast(4).split(separator: "-", omittingEmptySubsequences: false)
            .map(String.init)
        guard parts.count == 5 || parts.count == 6, !parts.contains("") else { return nil }
        release = WheelName.release(parts[0], parts[1])
        if parts.count == 6 {
            let digits = parts[2].prefix { ("0"..."9").contains($0) }
            build = Build(
                number: Int(digits) ?? .max, rest: String(parts[2].dropFirst(digits.count)))
        } else {
            build = Build()
        }
        let tags = parts.suffix(3).map { $0.split(separator: ".").map(String.init) }
        (pythons, abis, platforms) = (tags[0], tags[1], tags[2])
    }

    /// The release of an sdist: `name-version.tar.gz`. Returns nil for another name.
    static func release(ofSdist file: String) -> String? {
        for end in [".tar.gz", ".zip", ".tar.bz2", ".tgz"] where file.hasSuffix(end) {
            let stem = file.dropLast(end.count)
            guard let dash = stem.lastIndex(of: "-"), dash > stem.startIndex else { return nil }
            return release(String(stem[..<dash]), String(stem[stem.index(after: dash)...]))
        }
        return nil
    }

    private static func release(_ name: String, _ version: String) -> String {
        let words = name.lowercased().split { "-_.".contains($0) }
        return words.joined(separator: "-") + " " + version.lowercased()
    }

    /// The tags of a resource: systems, architectures and versions of Python that it is for.
    var tags: [String] {
        var tags: [String] = []
        for platform in platforms {
            let words = platform.split(separator: "_").map(String.init)
            let system =
                switch words[0] {
                case let word where word.hasPrefix("manylinux"): "linux"
                case "musllinux": "musl"
                case "macosx": "macos"
                case "win", "win32": "windows"
                default: words[0]
                }
            if system == "musl" { tags.append("linux") }
            tags.append(system)
            guard words.count > 1 || words[0] == "win32" else { continue }
            let architecture =
                words[0] == "win32"
                ? "x86" : words.drop { Int($0) != nil || $0 == words[0] }.joined(separator: "_")
            switch architecture {
            case "": break
            case "amd64": tags.append("x86_64")
            case "universal2": tags += ["universal2", "arm64", "x86_64"]
            default: tags.append(architecture)
            }
        }
        tags += pythons
        return tags.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

/// A Python and a platform, for which the best wheel of each release is chosen as pip does.
///
/// The order of preference is that of PEP 425, as packages of Python's `packaging.tags` have it.
package struct WheelTarget: Sendable, Hashable, CustomStringConvertible {
    /// The platform as it was given: a platform tag. `nil` chooses for each platform.
    package let platform: String?
    /// The version of Python as it was given. `nil` chooses for each version.
    package let python: String?
    private let minor: Int?
    /// The platform tags that fit, each with its place in the order of preference.
    private let platforms: [String: Int]?

    package var description: String {
        [python.map { "Python " + $0 }, platform].compactMap(\.self).joined(separator: " on ")
    }

    /// Reads a platform and a version of Python. Returns nil if neither is given.
    ///
    /// Throws `MirrorError` with `usage`.
    package init?(platform: String?, python: String?) throws(MirrorError) {
        if platform == nil, python == nil { return nil }
        (self.platform, self.python) = (platform, python)
        minor = try python.map { text throws(MirrorError) in
            let words = text.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
            guard words.count == 2 || words.count == 3, words[0] == 3, let minor = words[1],
                (0...99).contains(minor), !words.contains(nil)
            else {
                throw MirrorError(
                    .usage,
                    "\(Quoted(text)) is no version of Python 3 such as 3.12.")
            }
            return minor
        }
        platforms = try platform.map { text throws(MirrorError) in
            guard let tags = WheelTarget.platforms(text) else {
                throw MirrorError(
                    .usage,
                    "\(Quoted(text)) is no platform tag of wheels such as manylinux_2_28_x86_64, musllinux_1_2_aarch64, macosx_14_0_arm64 or win_amd64."
                )
            }
            return Dictionary(
                zip(tags, tags.indices), uniquingKeysWith: { first, _ in first })
        }
    }

    private static let architectures = [
        "x86_64", "i686", "aarch64", "armv6l", "armv7l", "ppc64", "ppc64le", "s390x", "riscv64",
        "loongarch64", "arm64", "amd64", "universal2",
    ]

    /// The platform tags that a machine with this tag accepts, the best first.
    private static func platforms(_ tag: String) -> [String]? {
        let words = tag.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
        let architecture = { (from: Int) in words.dropFirst(from).joined(separator: "_") }
        let isKnown = architectures.contains { words[0] != $0 && tag.hasSuffix("_" + $0) }
        guard isKnown || ["any", "win32"].contains(tag) else { return nil }
        switch words[0] {
        case "any" where words.count == 1: return []
        case "win32" where words.count == 1: return [tag]
        case "win" where words.count == 2: return [tag]
        case "linux" where words.count > 1: return manylinux(99, architecture(1))
        case "manylinux1" where words.count > 1: return manylinux(5, architecture(1))
        case "manylinux2010" where words.count > 1: return manylinux(12, architecture(1))
        case "manylinux2014" where words.count > 1: return manylinux(17, architecture(1))
        case "manylinux" where words.count > 3 && words[1] == "2":
            return Int(words[2]).flatMap { (5...99).contains($0) ? $0 : nil }
                .map { manylinux($0, architecture(3)) }
        case "musllinux" where words.count > 3 && words[1] == "1":
            return Int(words[2]).flatMap { (0...99).contains($0) ? $0 : nil }.map { minor in
                (0...minor).reversed().map { "musllinux_1_\($0)_\(architecture(3))" }
                    + ["linux_\(architecture(3))"]
            }
        case "macosx" where words.count > 3:
            guard let major = Int(words[1]), let minor = Int(words[2]), (10...99).contains(major),
                (0...99).contains(minor)
            else { return nil }
            return macosx(major, minor, architecture(3))
        default: return nil
        }
    }

    /// glibc 2.`minor` and older ones, PEP 600, with the older names of three of them.
    private static func manylinux(_ minor: Int, _ architecture: String) -> [String] {
        let isIntel = ["x86_64", "i686"].contains(architecture)
        var tags: [String] = []
        for version in (5...minor).reversed() where version >= 17 || isIntel {
            tags.append("manylinux_2_\(version)_\(architecture)")
            if version == 17 { tags.append("manylinux2014_\(architecture)") }
            if version == 12 { tags.append("manylinux2010_\(architecture)") }
            if version == 5 { tags.append("manylinux1_\(architecture)") }
        }
        return tags + ["linux_\(architecture)"]
    }

    private static func macosx(_ major: Int, _ minor: Int, _ architecture: String) -> [String] {
        var tags: [String] = []
        let own = architecture == "x86_64" ? ["x86_64", "intel", "fat64", "fat32"] : [architecture]
        let shared =
            switch architecture {
            case "x86_64": ["universal2", "universal"]
            case "arm64": ["universal2"]
            default: [String]()
            }
        for version in stride(from: major, to: 10, by: -1) {
            tags += (own + shared).map { "macosx_\(version)_0_\($0)" }
        }
        let last = major == 10 ? minor : 16
        for version in stride(from: last, through: 4, by: -1) {
            // The first macOS on arm64 was 11.
            let formats = architecture == "arm64" ? shared : own + shared
            tags += formats.map { "macosx_10_\(version)_\($0)" }
        }
        return tags
    }

    /// How well a wheel fits, the best first. Returns nil if it cannot be installed.
    private struct Rank: Comparable {
        var kind: Int
        var version = 0
        var platform = 0

        static func < (left: Rank, right: Rank) -> Bool {
            (left.kind, left.version, left.platform) < (right.kind, right.version, right.platform)
        }
    }

    private func rank(_ python: String, _ abi: String, _ platform: String) -> Rank? {
        var place = 0
        if platform != "any", let platforms {
            guard let known = platforms[platform] else { return nil }
            place = known
        }
        guard let minor else { return Rank(kind: platform == "any" ? 1 : 0, platform: place) }
        let own = "cp3\(minor)"
        if python == own, abi == own || (minor < 8 && abi == own + "m") {
            return Rank(kind: 0, platform: place)
        }
        if python == own, abi == "abi3" { return Rank(kind: 1, platform: place) }
        if python == own, abi == "none" {
            return platform == "any" ? Rank(kind: 5) : Rank(kind: 2, platform: place)
        }
        if abi == "abi3", python.hasPrefix("cp3"), let other = Int(python.dropFirst(3)),
            (2..<minor).contains(other)
        {
            return Rank(kind: 3, version: minor - other, platform: place)
        }
        guard abi == "none", python.hasPrefix("py3"), let version = version(python, minor) else {
            return nil
        }
        return Rank(kind: platform == "any" ? 6 : 4, version: version, platform: place)
    }

    /// The place of `py312`, `py3`, `py311` … in the order of preference.
    private func version(_ python: String, _ minor: Int) -> Int? {
        if python == "py3" { return 1 }
        guard let other = Int(python.dropFirst(3)), (0...minor).contains(other) else { return nil }
        return other == minor ? 0 : minor - other + 1
    }

    private func rank(_ wheel: WheelName) -> Rank? {
        var best: Rank?
        for python in wheel.pythons {
            for abi in wheel.abis {
                for platform in wheel.platforms {
                    guard let rank = rank(python, abi, platform) else { continue }
                    best = best.map { min($0, rank) } ?? rank
                }
            }
        }
        return best
    }

    /// What is chosen once: a release, and what is not given of Python and platform.
    private struct Choice: Hashable {
        var release: String
        var python = ""
        var platform = ""
    }

    /// The files that are left out of a table.
    func leftOut(of table: ResourceTable) -> PositionSet {
        var best: [Choice: (rank: Rank, build: WheelName.Build, position: Int)] = [:]
        var sdists: [String: [Int]] = [:]
        var found: [String: Bool] = [:]
        var leftOut = PositionSet()
        for position in table.indices {
            let name = table.target(at: position).name
            guard let wheel = WheelName(name) else {
                if table.tags(at: position).contains("sdist"),
                    let release = WheelName.release(ofSdist: name)
                {
                    sdists[release, default: []].append(position)
                }
                continue
            }
            leftOut.insert(CollectionOfOne(position))
            found[wheel.release] = found[wheel.release] ?? false
            guard let rank = rank(wheel) else { continue }
            found[wheel.release] = true
            var choice = Choice(release: wheel.release)
            if minor == nil {
                choice.python = (wheel.pythons + ["-"] + wheel.abis).joined(separator: ".")
            }
            if platforms == nil { choice.platform = wheel.platforms.joined(separator: ".") }
            if let known = best[choice],
                known.rank < rank || known.rank == rank && known.build >= wheel.build
            {
                continue
            }
            best[choice] = (rank, wheel.build, position)
        }
        for (_, chosen) in best { leftOut.remove(chosen.position) }
        for (release, positions) in sdists where found[release] == true {
            leftOut.insert(positions)
        }
        return leftOut
    }
}
