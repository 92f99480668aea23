internal import CLinux
internal import Glibc

/// Fills a folder with copies of the tree's files under `cas/`, by their sha256.
///
/// The folder may be a disk that has files of earlier exports and of other sites. Only what it lacks
/// is copied, each file under a hidden name until its bytes are verified and flushed. So every file
/// under `cas/` is whole, even if the disk is unplugged.
final class StoreExport {
    private let path: String
    private let root: RootDirectory
    /// The folder `cas`, locked during the export.
    private let files: Descriptor
    /// The copies that are not flushed yet: their hidden names and their names.
    private var pending: [(hidden: DirectoryEntry, name: String)] = []
    private var pendingBytes: Int64 = 0

    /// After so many copies or bytes the disk is flushed.
    private static let together: (files: Int, bytes: Int64) = (256, 256 << 20)
    private static let hidden = ".mirror-"

    /// Makes the folder unless it is there. Throws `MirrorError` with `locked` if another export
    /// fills it.
    init(at path: String) throws {
        self.path = path
        do throws(Errno) {
            do throws(Errno) { try retryingLibc("mkdir", path) { mkdir(path, 0o755) } } catch {
                if error.number != EEXIST { throw error }
            }
        } catch { throw MirrorError(error) }
        root = try RootDirectory(opening: path)
        do throws(Errno) {
            files = try root.makeFolder("cas")
        } catch { throw MirrorError(error) }
        guard linux_flock(files.number, LOCK_EX | LOCK_NB) == 0 else {
            throw MirrorError(
                .locked, "\(path.printable): another export fills it. Wait for its end.")
        }
        for name in (try? files.names(path: path, containing: StoreExport.hidden)) ?? []
        where name.hasPrefix(StoreExport.hidden) {
            try? DirectoryEntry(folder: files, name: name, path: name).unlink()
        }
    }

    /// Copies a file of the tree, and verifies the copy. Returns false if the folder has the file
    /// with its bytes. A file with other bytes is replaced.
    func add(
        _ record: IndexRecord, from tree: RootDirectory, isCancelled: () -> Bool
    ) throws -> Bool {
        let (target, name) = (record.target, record.sha256.hex)
        let entry = DirectoryEntry(folder: files, name: name, path: "\(path)/cas/\(name)")
        do throws(Errno) {
            // A file that the disk cannot read is replaced as well.
            if try entry.status()?.stamp.size == record.stamp.size,
                (try? sha256(of: entry, isCancelled)) == record.sha256
            {
                return false
            }
        } catch { throw MirrorError(error) }
        if isCancelled() { throw MirrorError(wrapping: CancellationError()) }
        let hidden = entry.sibling(StoreExport.hidden + randomHex(16))
        do {
            let digests: [Digest]?
            do throws(Errno) {
                let source = try tree.openFile(target.path)
                guard try source.status(path: target.path).isFile else {
                    throw Errno(number: EISDIR, call: "open", path: target.path)
                }
                let copy = try hidden.open(O_RDWR | O_CREAT | O_EXCL, mode: 0o644)
                try source.copy(to: copy, path: entry.path)
                digests = try FileDigests.compute(
                    copy, algorithms: [.sha256], path: entry.path, isCancelled: isCancelled)
            } catch { throw MirrorError(error, target: target) }
            if isCancelled() { throw MirrorError(wrapping: CancellationError()) }
            guard digests?.first == record.sha256 else {
                throw MirrorError(
                    .sourceChanged,
                    "\(target): it changed while it was copied. Run again; what was copied before it stays.",
                    target: target)
            }
        } catch {
            try? hidden.unlink()
            try? settle()
            throw error
        }
        pending.append((hidden, name))
        pendingBytes += record.stamp.size
        if pending.count >= StoreExport.together.files
            || pendingBytes >= StoreExport.together.bytes
        {
            try settle()
        }
        return true
    }

    private func sha256(
        of entry: DirectoryEntry, _ isCancelled: () -> Bool
    ) throws(Errno) -> Digest? {
        try FileDigests.compute(
            try entry.open(O_RDONLY), algorithms: [.sha256], path: entry.path,
            isCancelled: isCancelled)?.first
    }

    /// Flushes the copies and gives them their names.
    func settle() throws {
        if pending.isEmpty { return }
        do throws(Errno) {
            try retrying("syncfs", path) { linux_syncfs(files.number) }
            for (hidden, name) in pending { try hidden.replace(hidden.sibling(name)) }
            try files.flush(path: path)
        } catch { throw MirrorError(error) }
        (pending, pendingBytes) = ([], 0)
    }

    /// Writes a manifest into the folder `manifests`, with what the tree knows of its files.
    ///
    /// Without secrets: user names in URLs and headers with values of their own are left out.
    func add(
        _ manifest: Manifest, describedBy known: (Resource) throws -> Resource
    ) throws {
        do throws(Errno) { _ = try root.makeFolder("manifests") } catch { throw MirrorError(error) }
        var described = manifest
        described.resources = ResourceTable([])
        for resource in manifest.resources {
            described.resources.append(try known(resource).withoutSecrets)
        }
        let place = "\(path)/manifests/\(StoreExport.fileName(of: manifest.owner))"
        try FileReplacement(of: place).write { sink in
            try ManifestWriter(.json, label: manifest.label ?? manifest.owner)
                .write(described, to: sink)
        }
    }

    /// The name of a manifest's file: its owner, without bytes that a path gives a meaning to.
    ///
    /// A name that had to be changed gets a part of its digest, so that two owners have two files.
    private static func fileName(of owner: String) -> String {
        let special = "/\\:*?\"<>|%".unicodeScalars
        var name = ""
        for scalar in owner.unicodeScalars {
            let isPlain =
                scalar.value > 0x20 && scalar.value < 0x7F && !special.contains(scalar)
            name.unicodeScalars.append(isPlain ? scalar : "_")
        }
        name = String(name.prefix(bytes: 200))
        if name.hasPrefix(".") || name.isEmpty { name = "_" + name.dropFirst() }
        if name != owner {
            name += "-" + ByteHasher.digest(.sha256, of: Array(owner.utf8)).hex.prefix(8)
        }
        return name + ".json"
    }
}

extension Resource {
    /// The resource without user names and passwords, and without headers that may be secret.
    fileprivate var withoutSecrets: Resource {
        var copy = self
        copy.primary = primary.withoutSecrets
        copy.mirrors = mirrors.map(\.withoutSecrets)
        return copy
    }
}

extension Source {
    /// Fields whose values say nothing about a person.
    private static let harmless: Set<String> = ["accept", "accept-language", "user-agent"]

    fileprivate var withoutSecrets: Source {
        Source(
            url: url.withoutUserInfo,
            headers: headers.filter {
                !$0.value.isLiteral || Source.harmless.contains($0.name.lowercased())
            })
    }
}

/// A list of sha256 digests, such as that of a root's files or of sha256sum(1).
enum DigestList {
    /// Reads the first word of each line. Empty lines and lines that begin with `#` are skipped.
    ///
    /// Throws `ManifestError`, which names the line.
    static func read(_ text: String, file: String) throws(ManifestError) -> Set<Digest> {
        var digests: Set<Digest> = []
        for (number, line) in text.split(
            omittingEmptySubsequences: false, whereSeparator: \.isNewline
        )
        .enumerated() {
            guard let word = line.split(whereSeparator: \.isWhitespace).first,
                !word.hasPrefix("#")
            else { continue }
            guard let digest = try? Digest(.sha256, declared: String(word)) else {
                throw ManifestError(
                    file: file, at: TextPosition(line: number + 1, column: 1),
                    "\(Quoted(String(word))): begin the line with a sha256 of 64 digits"
                )
            }
            digests.insert(digest)
        }
        return digests
    }
}
