@testable import MirrorKit

/// What holds of every manifest that was taken, judged without the parsers' own checks.
enum ModelProperties {
    static func flaw(in manifest: Manifest, of origin: ManifestOrigin) -> String? {
        for resource in manifest.resources {
            if let flaw = TargetProperties.flaw(in: resource.target.path) {
                return "\(resource.target): \(flaw)"
            }
            if let flaw = flaw(in: resource) { return "\(resource.target): \(flaw)" }
            for source in resource.sources {
                if let flaw = flaw(in: source, of: origin) { return "\(source.url): \(flaw)" }
            }
        }
        return collision(among: manifest.resources.map(\.target))
    }

    private static func flaw(in resource: Resource) -> String? {
        let algorithms = resource.digests.map(\.algorithm)
        let pieces = resource.pieces
        let size = resource.size
        var interval: Int64 = 1
        if case .after(let time) = resource.refresh { interval = time.wholeSeconds }
        return firstFlaw(
            (!resource.sources.isEmpty, "no source"),
            (size ?? 0 >= 0, "a negative size"),
            (algorithms == algorithms.sorted(by: >), "digests in another order"),
            (Set(algorithms).count == algorithms.count, "two digests of one algorithm"),
            (resource.digests.allSatisfy { $0.bytes.count == $0.algorithm.byteCount }, "digest"),
            (interval > 0, "a refresh of no time"),
            (pieces.map { $0.length > 0 && $0.count > 0 } ?? true, "pieces of no length"),
            (resource.line > 0 && resource.column > 0, "no place"))
    }

    private static func flaw(in source: Source, of origin: ManifestOrigin) -> String? {
        var isFile = false
        if case .file = origin { isFile = true }
        var isRemote = false
        if case .url = origin { isRemote = true }
        for header in source.headers {
            for case .literal(let text) in header.value.pieces
            where text.utf8.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }) {
                return "a control character in a header"
            }
            let name = header.name.lowercased()
            if name == "range" || name == "host" || name.isEmpty { return "the header \(name)" }
        }
        return firstFlaw(
            (isFile || source.url.scheme != .file, "a file: source from elsewhere"),
            (!isRemote || source.url.userInfo == nil, "a password from elsewhere"),
            (source.url.scheme == .file || !source.url.host.isEmpty, "no host"))
    }

    /// Two targets that are one, or inside each other, on a tree that does not tell case apart.
    private static func collision(among targets: [Target]) -> String? {
        guard targets.count <= 40 else { return nil }
        let folded = targets.map { CaseFolding.fold($0.path) }
        for (position, path) in folded.enumerated() {
            for other in folded[(position + 1)...] {
                // `==` of texts is canonical equivalence, and a folder's slash composes with nothing.
                let isInside =
                    path.split(separator: "/").starts(with: other.split(separator: "/"))
                    || other.split(separator: "/").starts(with: path.split(separator: "/"))
                if isInside { return "\(path.printable) and \(other.printable) collide" }
            }
        }
        return nil
    }
}

/// What holds of every text that is taken for a target.
enum TargetProperties {
    static func flaw(in path: String) -> String? {
        let components = path.utf8.split(separator: 0x2F, omittingEmptySubsequences: false)
            .map { Array($0) }
        let areas = ["Documents", "Caches", "tmp"].map { Array($0.utf8) }
        let isPart =
            components.count == 2 && components[0] == areas[2]
            && components[1].suffix(5).elementsEqual(".part".utf8)
        return firstFlaw(
            (components.count > 1 && areas.contains(components[0]), "in no area"),
            (components.allSatisfy { (1...255).contains($0.count) }, "a component's length"),
            (!components.contains(Array(".".utf8)), "a component ."),
            (!components.contains(Array("..".utf8)), "a component .."),
            (path.utf8.count <= 3072, "too long"),
            (!isPart, "the name of a part"),
            (
                path.unicodeScalars.allSatisfy {
                    $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value)
                }, "a control character"
            ))
    }
}
