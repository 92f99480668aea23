internal import CLinux
internal import Glibc

// MARK: A manifest in a file of this machine

extension ManifestLoader {
    /// Reads a manifest from its file. Throws `ManifestError`, or `MirrorError` with `manifestUnreadable`.
    ///
    /// - Parameter wasFile: whether the path had a regular file when it was last read. Then the
    ///   call throws for a pipe in its place, instead of waiting for a writer.
    static func readFile(
        at path: String, hint: ListHint = ListHint(),
        meter: ActivityMeter? = nil, wasFile: () -> Bool = { false }
    ) throws -> Loaded {
        let file = try open(path)
        if (try? file.status(path: path))?.isFile == false {
            if wasFile() {
                throw MirrorError(
                    .manifestUnreadable,
                    "\(path.printable): this is no file any more, and it was one before.")
            }
            awaitWriter(of: file)
        }
        // The stamp is taken before the read: if the file changes during the read, it has another
        // stamp.
        let stamp = (try? file.status(path: path)).flatMap { $0.isFile ? $0.stamp : nil }
        meter?.begin(.decoding, totalBytes: stamp?.size)
        defer { meter?.end() }
        var decoded = try ManifestReader.read(
            descriptor: file.number, label: path, origin: .file(path: path),
            hint: hint, hasRead: { meter?.set(bytes: Int64($0)) })
        let place = canonicalPath(path)
        decoded.manifest.whereabouts = .file(path: place)
        decoded.manifest.label = path
        var record = ManifestRecord(name: decoded.manifest.owner, place: .absolute(place))
        record.resources = decoded.manifest.resources.count
        record.stamp = stamp
        record.hint = decoded.hint
        return Loaded(
            decoded: decoded,
            memory: FetchedManifest(
                record: record, path: place, text: stamp == nil ? nil : .open(file)))
    }

    /// Waits until a pipe has a writer, and then makes reads wait for bytes (poll(2), fifo(7)).
    ///
    /// The pipe is not opened a second time: its only writer may already be gone, and open(2) would
    /// then wait for ever.
    private static func awaitWriter(of file: Descriptor) {
        var entry = pollfd(fd: file.number, events: Int16(POLLIN), revents: 0)
        while poll(&entry, 1, -1) < 0, errno == EINTR {}
        let flags = fcntl(file.number, F_GETFL)
        if flags >= 0 { _ = fcntl(file.number, F_SETFL, flags & ~O_NONBLOCK) }
    }

    /// Opens a file, or a pipe that may have no writer yet.
    private static func open(_ path: String) throws(MirrorError) -> Descriptor {
        let number = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else {
            let reason = String(cString: strerror(errno))
            let hint =
                BareHost.find(in: path) == nil ? "" : " A URL begins with https:// or http://."
            throw MirrorError(
                .manifestUnreadable,
                "\(path.printable): the manifest cannot be read: \(reason).\(hint)")
        }
        return Descriptor(owning: number)
    }
}

/// The absolute path of a file, with the links in its folder resolved.
///
/// A link in the last name stays, because a link such as `latest.json` may later lead to another
/// file.
package func canonicalPath(_ path: String) -> String {
    let split = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let folder = split.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let name = split.map { String(path[path.utf8.index(after: $0)...]) } ?? path
    guard let above = resolvedPath(folder) else { return path }
    return (above == "/" ? "" : above) + "/" + name
}

/// A manifest that a root remembers; its methods read the manifest.
struct ManifestMemory: Sendable {
    let record: ManifestRecord
    /// The paths where the file may be, the likeliest first. Empty for a URL.
    let paths: [String]
    /// The names of all manifests that the root remembers.
    fileprivate let names: Set<String>
    fileprivate let root: RootDirectory?

    /// All manifests that a root remembers, in the order of their names.
    static func all(in view: TreeView) throws -> [ManifestMemory] {
        guard let root = view.root, let records = try view.index?.manifests(), !records.isEmpty
        else { return [] }
        let path = resolvedPath(root.path) ?? root.path
        let names = Set(records.map(\.name))
        return records.map {
            ManifestMemory(
                record: $0, paths: $0.place.paths(from: path), names: names, root: root)
        }
    }

    /// The manifest at a path that the root remembers. Returns nil if the root remembers none
    /// there.
    static func of(_ path: String, in view: TreeView) throws -> ManifestMemory? {
        let place = canonicalPath(path)
        return try all(in: view).first { $0.paths.contains(place) }
    }

    /// The URL or the likeliest path of the manifest, as text for people.
    var place: String {
        if case .url(let key) = record.place { return key.description }
        return paths.first ?? record.name
    }

    /// The first of the paths that leads to a readable file. Returns nil if no path does.
    var found: String? {
        paths.first { path in
            var status = stat()
            return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
                && access(path, R_OK) == 0
        }
    }

    /// Reads the manifest from its file, or else its last good copy, with a notice.
    ///
    /// If the name in the file is new, the manifest was renamed. If the root remembers another
    /// manifest of that name, the file has been replaced by it. Then the copy is used.
    func read(_ meter: ActivityMeter? = nil) throws -> ManifestLoader.Loaded {
        do {
            let path = found ?? place
            var loaded = try ManifestLoader.readFile(
                at: path, hint: record.hint, meter: meter, wasFile: { record.stamp != nil })
            let name = loaded.decoded.manifest.owner
            if name == record.name { return loaded }
            guard names.contains(name) else {
                loaded.notice = Notice(
                    "\(path): the manifest that was called \(record.name) is called \(name) now.")
                return loaded
            }
            let why = "\(path): this file is the manifest \(name) now."
            if let loaded = try serveCopy(because: why) { return loaded }
            throw MirrorError(.manifestUnreadable, why)
        } catch let error as MirrorError where error.code == .manifestUnreadable {
            if let loaded = try serveCopy(because: error.message) { return loaded }
            throw MirrorError(
                .manifestUnreadable, "\(error.message) No copy of \(record.name) is kept.",
                remedy: Remedy(.nameManifest, record.name))
        }
    }

    /// Reads the last good copy, with a notice that gives the reason. Returns nil if there is no
    /// copy.
    func serveCopy(because why: String) throws -> ManifestLoader.Loaded? {
        guard let copy = ManifestCopy(of: record, in: root) else { return nil }
        var loaded = ManifestLoader.Loaded(decoded: try decoded(copy))
        loaded.notice = Notice(
            "\(why) The last good copy of \(record.name), \(copy.age), is used.",
            remedy: Remedy(.nameManifest, record.name))
        return loaded
    }

    /// Reads the manifest from its file, or else its last good copy. Returns nil if it can read
    /// neither.
    ///
    /// The call makes no request and does not wait for a pipe's writer.
    func known() -> Manifest? {
        var manifest = text()
        manifest?.selection = record.selection
        return manifest
    }

    private func text() -> Manifest? {
        if let path = found, FileStatus.stamp(following: path) != nil,
            let read = try? ManifestLoader.readFile(at: path, hint: record.hint),
            read.decoded.manifest.owner == record.name, read.decoded.parts.isEmpty
        {
            return read.decoded.manifest
        }
        return (try? copied())?.manifest
    }

    /// Reads the last good copy. Returns nil if there is no copy.
    func copied() throws -> DecodedManifest? {
        try ManifestCopy(of: record, in: root).map { try decoded($0) }
    }

    private func decoded(_ copy: ManifestCopy) throws -> DecodedManifest {
        let origin: ManifestOrigin
        let whereabouts: Manifest.Whereabouts
        if case .url(let key) = record.place {
            origin = .url(try SourceURL(key.text, relativeTo: nil))
            whereabouts = .url(key)
        } else {
            origin = .file(path: place)
            whereabouts = .file(path: place)
        }
        var decoded = try ManifestReader.read(
            descriptor: copy.file.number, label: place, origin: origin, hint: record.copyHint)
        decoded.manifest.whereabouts = whereabouts
        decoded.manifest.label = place
        decoded.recallLeftOut(copy.file.number)
        return decoded
    }
}

extension ManifestRecord {
    /// The hint for reading the last good copy.
    ///
    /// The hint applies only if the copy is a list. The copy of a list that had several documents
    /// is a manifest.
    var copyHint: ListHint {
        var hint = hint
        hint.isForListsOnly = true
        return hint
    }
}

extension DecodedManifest {
    /// Reads the entries that were left out of a list with several documents from its last good
    /// copy.
    mutating func recallLeftOut(_ copy: Int32) {
        if notation == .json { manifest.leftOut = [LeftOutEntry](noteIn: copy) }
    }
}
