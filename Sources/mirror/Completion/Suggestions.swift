import ArgumentParser
import MirrorKit

// The words that a shell suggests and that only the root or a manifest knows.
//
// The shell runs `mirror ---completion` with the words so far. A suggestion takes no lock and makes
// no request. If nothing can be read, nothing is suggested, because an error would appear amid the
// line that the user is writing.

extension CompletionKind {
    /// The most targets that a shell gets.
    private static let mostTargets = 1000

    /// Targets of the manifests on the line, or without any, of the files that the root knows.
    static let targets = custom { words, _, prefix in
        await targets(words, beginningWith: prefix)
    }

    /// Tags of the manifests on the line, or without any, of the manifests that the root remembers.
    static let tags = custom { words, _, _ in
        let tags = await manifests(words).reduce(into: Set<String>()) { tags, manifest in
            for resource in manifest.resources { tags.formUnion(resource.tags) }
        }
        return tags.sorted().filter(isPlain)
    }

    /// Names of the manifests that the root remembers.
    static let names = custom { words, _, _ in
        let known = try? await session(words)?.manifests.remembered()
        return (known ?? []).map(\.name).filter(isPlain)
    }

    /// Long names of the options that a setting can set.
    static let settings = custom { _, _, _ in
        OptionCatalog().options.map(\.name)
    }

    private static func targets(_ words: [String], beginningWith prefix: String) async -> [String] {
        let named = await manifests(onLine: words)
        if named.isEmpty {
            let known = try? await session(words)?.targets(
                beginningWith: prefix, limit: mostTargets)
            return (known ?? []).map(\.path).filter(isPlain)
        }
        return named.lazy.flatMap(\.resources).map(\.target.path)
            .filter { $0.utf8.starts(with: prefix.utf8) && isPlain($0) }
            .prefix(mostTargets).sorted()
    }

    /// Whether a word can stand in a list with one word a line, and on a command line as it is.
    ///
    /// bash expands the list that it gets, so it would execute a `$` or a backquote of a manifest.
    private static func isPlain(_ word: String) -> Bool {
        word == word.printable
            && word.utf8.allSatisfy { $0 >= 0x80 || plainBytes.contains($0) }
    }

    private static let plainBytes = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/@%+=:,-".utf8)

    private static func session(_ words: [String]) throws -> MirrorSession? {
        let session = try MirrorSession(root: EffectiveWords.root(in: words))
        try session.requireRoot()
        return session
    }

    private static func manifests(_ words: [String]) async -> [Manifest] {
        let named = await manifests(onLine: words)
        guard named.isEmpty else { return named }
        return
            (try? await session(words)?.manifests.loadRemembered(isOffline: true).manifests) ?? []
    }

    /// Returns the manifests on the line that are files and can be read.
    private static func manifests(onLine words: [String]) async -> [Manifest] {
        var found: [Manifest] = []
        for word in words.dropFirst(2) where !word.hasPrefix("-") {
            guard case .path(let path)? = try? ManifestSource(argument: word),
                let decoded = try? await ManifestSource.path(path).read()
            else { continue }
            found.append(decoded.manifest)
        }
        return found
    }
}
