internal import CLinux
internal import Glibc

/// The parts of a tree: files in `tmp/`, rows in the index.
///
/// A row is committed before its file is made. So a file without a row is a leftover that any run
/// may remove. Only a row makes a file a part.
final class TreePartStore: PartStore {
    private let root: RootDirectory
    private let index: Index
    /// The paths of parts that an unfinished set needs.
    private let promised: Set<[UInt8]>

    /// Makes a store for a root, whose lock the caller holds.
    /// Parts that are promised to an unfinished set are not discarded.
    init(root: RootDirectory, index: Index, promised: Set<[UInt8]> = []) {
        self.root = root
        self.index = index
        self.promised = promised
    }

    var tag: String { root.shard.tag }

    func create(_ record: PartRecord) throws(MirrorError) -> PartFile {
        try indexed(in: index.place) { () throws(IndexError) in
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.put(record)
            }
        }
        do throws(Errno) {
            let folder = try root.makeFolder(Area.tmp.rawValue)
            return try TreePartStore.create(record.name, in: folder)
        } catch { throw MirrorError(error, target: record.target) }
    }

    func open(_ record: PartRecord) throws(MirrorError) -> PartFile? {
        let name = record.name
        let isKnown = try indexed(in: index.place) { () throws(IndexError) in
            try index.read { (database: inout Database) throws(IndexError) in
                try database.hasPart(named: name)
            }
        }
        guard isKnown else { return nil }
        do throws(Errno) {
            let folder = try root.openFolder(Area.tmp.rawValue)
            let path = TreePartStore.path(of: name)
            let number = try retrying("openat", path) {
                let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
                return linux_openat(folder.number, name, flags, 0)
            }
            let file = PartFile(name: name, descriptor: number)
            let status = try FileStatus(
                folder: number, name: "", flags: Int32(LINUX_AT_EMPTY_PATH), path: path)
            // With a second name, a write to the part would change the file under that name too.
            return status.isFile && status.links == 1 ? file : nil
        } catch {
            switch error.number {
            case ENOENT, ELOOP, ENOTDIR, EISDIR, ENXIO: return nil
            default: throw MirrorError(error, target: record.target)
            }
        }
    }

    func update(_ record: PartRecord) throws(MirrorError) {
        try indexed(in: index.place) { () throws(IndexError) in
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.put(record)
            }
        }
    }

    func log(
        _ milestone: Milestone, from start: Int64 = 0, part name: String
    ) throws(MirrorError) {
        try indexed(in: index.place) { () throws(IndexError) in
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.log(milestone, from: start, part: name)
            }
        }
    }

    func discard(part name: String) throws(MirrorError) {
        // A name leads nowhere but into tmp.
        if name.utf8.contains(UInt8(ascii: "/")) { return }
        if promised.contains(Array(TreePartStore.path(of: name).utf8)) { return }
        do throws(Errno) {
            let folder = try root.openFolder(Area.tmp.rawValue)
            try TreePartStore.remove(name, from: folder)
        } catch {
            if error.number != ENOENT { throw MirrorError(error) }
        }
        try indexed(in: index.place) { () throws(IndexError) in
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.removePart(named: name)
            }
        }
    }

    /// Returns the path of a part, relative to the root.
    static func path(of name: String) -> String { "tmp/" + name }

    /// Returns a new path for a file that no later run resumes.
    static func passingPath(for target: Target, tag: String = "") -> String {
        path(of: PartRecord.passingName(for: target, tag: tag))
    }

    /// Makes a new, empty file, mode 0644, in an open `tmp/`.
    static func create(_ name: String, in folder: Descriptor) throws(Errno) -> PartFile {
        let number = try retrying("openat", path(of: name)) {
            let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
            return linux_openat(folder.number, name, flags, 0o644)
        }
        return PartFile(name: name, descriptor: number)
    }

    /// Removes a file from an open `tmp/`; a missing file is no error.
    static func remove(_ name: String, from folder: Descriptor) throws(Errno) {
        do throws(Errno) {
            try retryingLibc("unlinkat", path(of: name)) { unlinkat(folder.number, name, 0) }
        } catch {
            if error.number != ENOENT { throw error }
        }
    }
}

// The name of a part in `tmp/`: the target's name, a key, and `.part`.
//
// The key is derived from the target, from the identity of the bytes, and from random bytes, the
// generation. So a part of another version has another name. After a crash between the index and
// the file, a row can never refer to the bytes of another part. A process that shares the work of a
// root begins its keys with its own tag, so that it knows its leftovers from the parts of others.

extension PartRecord {
    /// Maximum number of bytes of the target's name that are kept.
    static let longestStem = 160

    /// Returns a name that no part had before.
    static func freshName(
        for target: Target, identity: PartIdentity, tag: String = ""
    ) -> String {
        name(for: target, identity: identity, generation: randomBytes(keyLength), tag: tag)
    }

    /// Returns a name for a file that no later run resumes. The key is random.
    static func passingName(for target: Target, tag: String = "") -> String {
        name(for: target, key: randomHex(keyLength), tag: tag)
    }

    /// Returns the name of a part, from its target, the identity of its bytes, and random bytes.
    static func name(
        for target: Target, identity: PartIdentity, generation: [UInt8], tag: String = ""
    ) -> String {
        var hasher = ByteHasher(.sha256)
        for field in [target.path] + fields(of: identity) {
            // No field contains NUL, so two lists of fields never give the same bytes.
            hasher.update(Array(field.utf8) + [0])
        }
        hasher.update(generation)
        return name(for: target, key: Hex.encode(hasher.finish().bytes.prefix(keyLength)), tag: tag)
    }

    /// Number of bytes that a key has.
    private static let keyLength = 16

    private static func name(for target: Target, key: String, tag: String) -> String {
        String(
            joining: target.name.prefix(bytes: longestStem), ".", tag,
            key.prefix(bytes: 2 * keyLength - tag.utf8.count), ".part")
    }

    /// Whether the key in a part's name begins with a tag.
    static func hasTag(_ tag: String, _ name: String) -> Bool {
        name.utf8.suffix(37).starts(with: tag.utf8)
    }

    /// Whether a file name in `tmp/` is the name of a part: 32 hexadecimal digits before `.part`.
    static func isName(_ name: String) -> Bool {
        let suffix = Array(name.utf8.suffix(38))
        guard suffix.count == 38, suffix.first == UInt8(ascii: "."),
            suffix.suffix(5).elementsEqual(".part".utf8)
        else { return false }
        return suffix[1...32].allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
    }

    private static func fields(of identity: PartIdentity) -> [String] {
        switch identity {
        case .digest(let digest): ["digest", digest.description]
        case .version(let provenance, let validator):
            ["version", provenance.source.text, provenance.answeredBy]
                + {
                    switch validator {
                    case .entityTag(let tag): ["tag", tag.text]
                    case .lastModified(let date): ["date", String(date.seconds)]
                    }
                }()
        case .anonymous: ["anonymous"]
        }
    }
}
