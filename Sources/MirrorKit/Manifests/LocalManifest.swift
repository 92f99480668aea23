internal import CLinux
internal import Glibc
internal import MirrorManifests
internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// A manifest in a file of this machine.
enum LocalManifest {
    /// Reads one. Throws `ManifestRefusal`, or `MirrorError` with `manifestUnreadable`.
    static func read(_ path: String, label: String? = nil) throws -> ManifestLoader.Loaded {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else {
            let reason = String(cString: strerror(errno))
            let hint =
                BareHost.find(in: path) == nil ? "" : " A URL begins with https:// or http://."
            throw MirrorError(
                .manifestUnreadable,
                "\(path.printable): the manifest cannot be read: \(reason).\(hint)")
        }
        let file = Descriptor(owning: number)
        // Before it is read: what changes meanwhile has another stamp.
        let stamp = (try? file.status(path: path)).flatMap { $0.isFile ? $0.stamp : nil }
        var decoded = try ManifestReader.read(
            descriptor: file.number, label: label ?? path, origin: .file(path: path))
        let place = canonical(path)
        decoded.manifest.whereabouts = .file(path: place)
        decoded.manifest.label = label ?? path
        var record = ManifestRecord(name: decoded.manifest.owner, place: .absolute(place))
        record.resources = decoded.manifest.resources.count
        record.stamp = stamp
        return ManifestLoader.Loaded(
            decoded: decoded,
            memory: FetchedManifest(
                record: record, path: place, text: stamp == nil ? nil : .open(file)))
    }

    /// The absolute path of a file: links are followed on the way, and the last name is as it was
    /// given, because what `latest.json` leads to may change.
    static func canonical(_ path: String) -> String {
        let split = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = split.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let name = split.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        guard let resolved = realpath(folder, nil) else { return path }
        defer { free(resolved) }
        let above = String(cString: resolved)
        return (above == "/" ? "" : above) + "/" + name
    }

    /// The absolute path of a folder, no link on the way.
    static func canonical(folder: String) -> String {
        guard let resolved = realpath(folder, nil) else { return folder }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// What the root remembers of the manifest at a path; nil when it knows none there.
    static func memory(of path: String, in view: TreeView) throws -> ManifestMemory? {
        let place = canonical(path)
        return try ManifestMemory.all(in: view).first { $0.paths.contains(place) }
    }
}

/// A manifest that a root remembers, and how to read it.
struct ManifestMemory: Sendable {
    let record: ManifestRecord
    /// Where the file may be, the likeliest first; none for a URL.
    let paths: [String]
    /// The names of all manifests that the root remembers.
    fileprivate let names: Set<String>
    fileprivate let root: RootDirectory?

    /// All of them, in the order of their names.
    static func all(in view: TreeView) throws -> [ManifestMemory] {
        guard let root = view.root, let records = try view.index?.manifests(), !records.isEmpty
        else { return [] }
        let path = LocalManifest.canonical(folder: root.path)
        let names = Set(records.map(\.name))
        return records.map {
            ManifestMemory(
                record: $0, paths: $0.place.paths(from: path), names: names, root: root)
        }
    }

    /// Where it is looked for, for people.
    var place: String {
        if case .url(let key) = record.place { return key.description }
        return paths.first ?? record.name
    }

    /// The first of the paths at which a file is that can be read.
    var found: String? {
        paths.first { path in
            var status = stat()
            return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
                && access(path, R_OK) == 0
        }
    }

    /// Reads it from its file, else its last good copy, with a notice.
    ///
    /// A file that says another name now was renamed, unless that name is remembered by itself: then
    /// somebody put another manifest there, and the copy serves.
    func read() throws -> ManifestLoader.Loaded {
        do {
            let path = found ?? place
            var loaded = try LocalManifest.read(path)
            let name = loaded.decoded.manifest.owner
            if name == record.name { return loaded }
            guard names.contains(name) else {
                loaded.notice =
                    "\(path): the manifest that was called \(record.name) is called \(name) now."
                return loaded
            }
            let why = "\(path): this file is the manifest \(name) now."
            if let loaded = try serveCopy(because: why) { return loaded }
            throw MirrorError(.manifestUnreadable, why)
        } catch let error as MirrorError where error.code == .manifestUnreadable {
            if let loaded = try serveCopy(because: error.message) { return loaded }
            throw MirrorError(
                .manifestUnreadable,
                "\(error.message) No copy of \(record.name) is kept. Name its new place once, as in `mirror sync PATH`, or forget it: mirror forget \(record.name)"
            )
        }
    }

    /// What the last good copy says, with a notice that says why it has to; nil when there is none.
    func serveCopy(because why: String) throws -> ManifestLoader.Loaded? {
        guard let copy = ManifestCopy(of: record, in: root) else { return nil }
        var loaded = ManifestLoader.Loaded(decoded: try decoded(copy))
        loaded.notice =
            "\(why) The last good copy of \(record.name), \(copy.age), is used. Name its new place once, as in `mirror sync PATH`, or forget it: mirror forget \(record.name)"
        return loaded
    }

    /// What it says, as far as that can be told without a server; nil when nothing can be read.
    func known() -> Manifest? {
        if let path = found, let manifest = try? LocalManifest.read(path).decoded.manifest,
            manifest.owner == record.name
        {
            return manifest
        }
        return ManifestCopy(of: record, in: root).flatMap { try? decoded($0) }?.manifest
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
            descriptor: copy.file.number, label: place, origin: origin)
        decoded.manifest.whereabouts = whereabouts
        decoded.manifest.label = place
        return decoded
    }
}
