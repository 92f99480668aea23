internal import MirrorModel

/// Writes a script that adds packages to npm's cache (npm-cache(1)), from which `npm ci --offline` takes
/// them by their sha512.
struct NPMCacheEncoder: ManifestEncoder {
    private var bytes: [UInt8] = []
    private var count = 0
    /// The root's path.
    private let root: String

    /// A call of npm takes half a second, and a command line has room for this many paths.
    private static let mostInCommand = 20

    init(root: String) { self.root = root }

    var pendingBytes: Int { bytes.count }

    mutating func take() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    mutating func begin(_ manifest: Manifest) {
        bytes += "#!/bin/sh\n".utf8
        bytes += "# Adds packages to npm's cache; npm_config_cache=DIR names another one.\n".utf8
        bytes += "set -e\n".utf8
    }

    mutating func add(_ resource: Resource) {
        if count.isMultiple(of: NPMCacheEncoder.mostInCommand) {
            bytes += "\(count == 0 ? "" : "\n")npm cache add".utf8
        }
        count += 1
        bytes += " \(QuotedWord.shell(root + "/" + resource.target.path))".utf8
    }

    mutating func end() { if count > 0 { bytes.append(0x0A) } }
}
