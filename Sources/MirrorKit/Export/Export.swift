internal import CLinux
internal import Glibc

/// Writes the files that manifests want in a form that another program reads.
///
/// A list describes the files with what the manifests and the index know. The files need not be in
/// the tree. A folder has copies of files, each read again and compared with its digest. A change
/// of a copy never changes the tree's file.
package struct Export: Sendable {
    private let manifests: [Manifest]
    private let format: ExportFormat
    private let options: PlanOptions
    private let leavesOut: Bool
    private let except: Set<Digest>

    /// Makes an export of the files that manifests want.
    ///
    /// - Parameters:
    ///   - manifests: the manifests that want the files.
    ///   - format: the list or folder.
    ///   - options: `only` and `skip` select resources by their tags.
    ///   - leavesOut: whether files that the format cannot hold, or that do not exist, are left
    ///   out. Otherwise such a file is an error.
    ///   - except: the text of a list of sha256 digests, and its name. A store gets no such file.
    package init(
        of manifests: [Manifest], as format: ExportFormat, options: PlanOptions = PlanOptions(),
        leavesOut: Bool = false, except: (text: String, file: String)? = nil
    ) throws(ManifestError) {
        (self.manifests, self.format) = (manifests, format)
        (self.options, self.leavesOut) = (options, leavesOut)
        self.except =
            try except.map { list throws(ManifestError) in
                try DigestList.read(list.text, file: list.file)
            } ?? []
    }

    /// Writes the list or the folder.
    ///
    /// A folder appears whole or not at all. It replaces only a folder of whose files the tree has
    /// all, and leaves a folder that is as it should be. An existing file is replaced atomically.
    ///
    /// - Parameters:
    ///   - destination: the path or the function that gets the export.
    ///   - session: a session of the root with the files.
    /// - Throws: `MirrorError` with `exportIncomplete`, `usage`, `inputOutput`, `noSpace`,
    ///   `cancelled` and the like; `ManifestError`. After an error, nothing is written.
    package func write(
        to destination: ExportDestination, from session: MirrorSession
    ) async throws -> ExportReport {
        try await session.engine.scan { view, isCancelled in
            if case .path(let path) = destination {
                try refuseOwnFile(path, amongFilesOf: session.root)
            }
            var choice = try ExportChoice(
                manifests, as: format, options: options, view: view, isCancelled: isCancelled)
            if !leavesOut, let refusal = choice.report.refusal { throw refusal }
            choice.leaveOut(except)
            try choice.write(to: destination, root: session.root)
            return choice.report
        }
    }
}

/// Where an export goes.
package enum ExportDestination: Sendable {
    /// A file or a folder, by its path.
    case path(String)
    /// A function that is called with the chunks of a text. Only lists can go there.
    case sink(@Sendable ([UInt8]) throws -> Void)
}

/// Chooses the files of an export before anything is written.
struct ExportChoice {
    private(set) var report: ExportReport
    /// The files of a list, with what manifests and index know of them.
    private var resources = ResourceTable([])
    /// The files of a folder and their paths in it, in the order of their targets' bytes.
    private(set) var copies: [(record: IndexRecord, name: String)] = []
    private let view: TreeView
    private let isCancelled: @Sendable () -> Bool
    private let manifests: [Manifest]

    /// Selects resources and decides for each whether the export has it.
    init(
        _ manifests: [Manifest], as format: ExportFormat, options: PlanOptions, view: TreeView,
        isCancelled: @escaping @Sendable () -> Bool
    ) throws {
        report = ExportReport(format: format)
        self.manifests = manifests
        self.view = view
        self.isCancelled = isCancelled
        let wanted = try Wanted(manifests, options: options, of: view.shard, index: view.index)
        try wanted.refuseUnknownNames(options)
        var names: [String: Digest] = [:]
        for entry in wanted.entries {
            try take(wanted.resource(of: entry), &names)
            if isCancelled() { throw MirrorError(wrapping: CancellationError()) }
        }
    }

    private mutating func take(_ resource: Resource, _ names: inout [String: Digest]) throws {
        let format = report.format
        let record = try view.index?.record(for: resource.target)
        let described = record.flatMap { record in
            let keys = resource.sources.map { SourceKey($0.url) }
            return resource.described(
                by: record,
                isOfSource: record.provenance.map { keys.contains($0.source) } ?? true)
        }
        let isThere = try format.needsFiles && described != nil && hasFile(record)
        let resource = described ?? resource
        switch format.decision(on: resource, isThere: isThere) {
        case .pass: report.passed += 1
        case .omit(let reason): report.omit(resource.target, reason)
        case .take(let name):
            if format.isFolder, let record {
                if let other = names.updateValue(record.sha256, forKey: name) {
                    // Two URLs with the same bytes share one copy.
                    if other != record.sha256 { report.omit(resource.target, .nameTaken) }
                    names[name] = other
                    return
                }
                copies.append((record, name))
                report.bytes += record.stamp.size
            } else {
                resources.append(
                    format == .metalink ? resource.withoutSecretsOfSources : resource)
            }
            report.files += 1
        }
    }

    /// Leaves out the files that another place has.
    mutating func leaveOut(_ digests: Set<Digest>) {
        if digests.isEmpty { return }
        copies.removeAll { record, _ in
            guard digests.contains(record.sha256) else { return false }
            report.excepted += 1
            report.bytes -= record.stamp.size
            return true
        }
    }

    /// Whether the tree has the bytes of a row. If the stamp differs, the file is read.
    private func hasFile(_ record: IndexRecord?) throws -> Bool {
        guard let record, let root = view.root else { return false }
        var scan = StatCursor(root)
        guard case .file(let stamp) = try scan.look(at: record.target) else { return false }
        if stamp == record.stamp { return true }
        guard stamp.size == record.stamp.size else { return false }
        let read = try FileDigests.read(record.target, in: root, isCancelled: isCancelled)
        return read?.digests.first == record.sha256
    }

    /// Writes the chosen files to the destination.
    mutating func write(to destination: ExportDestination, root path: String) throws {
        let manifest = Manifest(name: nil, owner: report.format.rawValue, resources: resources)
        switch destination {
        case .sink(let sink):
            guard !report.format.isFolder else {
                throw MirrorError(.usage, "\(report.format.title) is a folder. Name a path for it.")
            }
            try report.format.write(manifest, root: path, to: sink)
        case .path(let output):
            report.output = output
            if report.format.isFolder {
                guard let root = view.root else { return }
                if report.format == .store { return try fillStore(at: output, from: root) }
                let former = try former(at: output)
                if let former, isAlready(in: former) { return }
                if let former, let name = try nameThatWouldGetLost(in: former) {
                    throw former.refusal(because: name)
                }
                let folder = try ExportFolder(at: output, replacing: former)
                do { try fill(folder, from: root) } catch {
                    folder.remove()
                    throw error
                }
            } else {
                try FileReplacement(of: output).write { sink in
                    try report.format.write(manifest, root: path, to: sink)
                }
            }
        }
    }

    /// Copies the files that a store lacks, and writes the manifests.
    private mutating func fillStore(at path: String, from root: RootDirectory) throws {
        let store = try StoreExport(at: path)
        (report.files, report.bytes) = (0, 0)
        for (record, _) in copies {
            if isCancelled() {
                try store.settle()
                throw MirrorError(wrapping: CancellationError())
            }
            if try store.add(record, from: root, isCancelled: isCancelled) {
                report.files += 1
                report.bytes += record.stamp.size
            } else {
                report.alreadyThere += 1
            }
        }
        try store.settle()
        let index = view.index
        for manifest in manifests {
            try store.add(manifest) { resource in
                var resource = resource
                // A store gives no names, so the name that a server chose is written.
                if resource.isNamedByServer,
                    let name = try index?.serverName(of: manifest.serverNameKey(of: resource))
                {
                    (resource.target, resource.isNamedByServer) = (name, false)
                }
                guard let record = try index?.record(for: resource.target) else { return resource }
                let keys = resource.sources.map { SourceKey($0.url) }
                let isOfSource = record.provenance.map { keys.contains($0.source) } ?? true
                return resource.described(by: record, isOfSource: isOfSource) ?? resource
            }
        }
    }

    /// Reads the folder that is there. Returns nil if there is none.
    private func former(at path: String) throws -> FormerExport? {
        var sizes = Set(copies.map(\.record.stamp.size))
        if let index = view.index {
            var cursor = try index.projectionCursor(from: "")
            while try cursor.next() { if let row = cursor.row { sizes.insert(row.stamp.size) } }
        }
        return try FormerExport(
            at: path, makes: report.format == .bagit ? Set(ExportChoice.tagNames) : [],
            sizes: sizes, isCancelled: isCancelled)
    }

    /// Whether a folder has the files of this export, and no others.
    private func isAlready(in former: FormerExport) -> Bool {
        let made = report.format == .bagit ? ExportChoice.tagNames.count : 0
        return former.foreign == nil && former.made.count == made
            && former.files.count == copies.count
            && copies.allSatisfy { record, name in
                former.files[name].map {
                    $0.sha256 == record.sha256 && $0.isExecutable == record.isExecutable
                } ?? false
            }
    }

    /// Returns a file of the folder that is there whose bytes neither this export nor the tree has.
    ///
    /// Returns nil if there is no such file.
    private func nameThatWouldGetLost(in former: FormerExport) throws -> String? {
        if let foreign = former.foreign ?? former.made.keys.min() { return foreign }
        let known = Set(copies.map(\.record.sha256))
        var lost = former.files.filter { !known.contains($0.value.sha256) }
        guard !lost.isEmpty else { return nil }
        let digests = Set(lost.values.map { Array($0.sha256.bytes) })
        if let index = view.index {
            var cursor = try index.projectionCursor(from: "")
            while try cursor.next() {
                guard let row = cursor.row, digests.contains(Array(row.sha256)) else { continue }
                let record = try cursor.wholeRecord()
                guard try hasFile(record) else { continue }
                lost = lost.filter { $0.value.sha256 != record.sha256 }
            }
        }
        return lost.keys.min()
    }

    private func fill(_ folder: ExportFolder, from root: RootDirectory) throws {
        for (record, name) in copies {
            if isCancelled() { throw MirrorError(wrapping: CancellationError()) }
            try folder.add(record, named: name, from: root, isCancelled: isCancelled)
        }
        if report.format == .bagit {
            for (name, text) in tagFiles { try folder.add(text, named: name) }
        }
        try folder.promote()
    }

    /// The names of the tag files of a bag.
    private static let tagNames = [
        "bagit.txt", "bag-info.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt",
    ]

    /// The tag files of a BagIt bag and their names (RFC 8493 §2). The list of their digests is
    /// last.
    private var tagFiles: [(name: String, text: [UInt8])] {
        let declaration = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
        let about = """
            Bag-Software-Agent: mirror \(MirrorVersion.current)
            Bagging-Date: \(SystemClock.now().rfc3339.prefix(10))
            Payload-Oxum: \(report.bytes).\(copies.count)

            """
        let line = { (digest: Digest, name: String) in
            "\(digest.hex)  \(name.bagEscaped)\n".utf8
        }
        let files = [
            ("bagit.txt", Array(declaration.utf8)), ("bag-info.txt", Array(about.utf8)),
            ("manifest-sha256.txt", copies.flatMap { line($0.record.sha256, $0.name) }),
        ]
        let tags = files.flatMap { line(ByteHasher.digest(.sha256, of: $1), $0) }
        return files + [("tagmanifest-sha256.txt", tags)]
    }
}

/// A folder outside the tree that is filled under a hidden name and renamed when it is complete.
///
/// Files are copied, or share extents that the file system separates at the first change. They are
/// no hard links, because an edit of a hard link would change the tree's file. A killed process
/// leaves the hidden folder without a flock(2) lock. The next export to the same path removes such
/// a folder.
final class ExportFolder {
    private let path: String
    private let hidden: DirectoryEntry
    private let name: String
    /// The descriptor of the hidden folder, locked during the export.
    private let hold: Descriptor
    private let content: RootDirectory
    private var folders: FolderCache

    private let former: FormerExport?
    /// Whether the hidden name is that of the former folder now.
    private var isExchanged = false

    /// Makes the hidden folder.
    ///
    /// Throws `MirrorError` with `usage` if anything but the former folder is at the path.
    init(at path: String, replacing former: FormerExport? = nil) throws {
        self.former = former
        let hasSlash = path.utf8.count > 1 && path.utf8.last == UInt8(ascii: "/")
        let trimmed = hasSlash ? path.prefix(bytes: path.utf8.count - 1) : path
        name = PathText.name(of: trimmed)
        let isDeep = trimmed.utf8.contains(UInt8(ascii: "/"))
        let above = isDeep ? PathText.folder(of: trimmed) + "/" : "./"
        self.path = trimmed
        do throws(Errno) {
            let parent = Descriptor(
                owning: try retrying("open", above) {
                    linux_openat(AT_FDCWD, above, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
                })
            let there = try DirectoryEntry(folder: parent, name: name, path: path).status()
            if let there, former == nil || there.kind != .folder {
                throw Errno(number: EEXIST, call: "mkdir", path: path)
            }
            ExportFolder.removeLeftovers(of: name, in: parent, path: above)
            (hidden, hold) = try ExportFolder.makeHidden(for: name, in: parent, path: path)
        } catch {
            throw ExportFolder.sentence(on: error, path: path)
        }
        content = try RootDirectory(opening: above + hidden.name)
        folders = FolderCache(content)
    }

    /// Makes a hidden folder and locks it.
    ///
    /// Another export to the same path may remove the new folder as a leftover before the lock is
    /// taken. Then the loop makes a folder with another name.
    private static func makeHidden(
        for name: String, in parent: Descriptor, path: String
    ) throws(Errno) -> (DirectoryEntry, Descriptor) {
        for _ in 0..<100 {
            let fresh = stem(of: name) + randomHex(8)
            let hidden = DirectoryEntry(folder: parent, name: fresh, path: path)
            try retryingLibc("mkdir", path) { mkdirat(parent.number, fresh, 0o755) }
            do throws(Errno) {
                let hold = try hidden.open(O_RDONLY | O_DIRECTORY)
                guard linux_flock(hold.number, LOCK_EX | LOCK_NB) == 0 else { continue }
                // A folder that was removed before it was locked has no name any more.
                let inode = try hold.status(path: path).stamp.inode
                if try hidden.status()?.stamp.inode == inode {
                    return (hidden, hold)
                }
            } catch {
                if error.number != ENOENT { throw error }
            }
        }
        throw Errno(number: EBUSY, call: "flock", path: path)
    }

    private static func sentence(on error: Errno, path: String) -> MirrorError {
        guard error.number == EEXIST else { return MirrorError(error) }
        return MirrorError(
            .usage,
            "\(path.printable): it is there already, and an export replaces nothing. Name a folder that is not there yet."
        )
    }

    private static func stem(of name: String) -> String { ".\(name.prefix(bytes: 160)).mirror-" }

    private static func removeLeftovers(of name: String, in parent: Descriptor, path: String) {
        let stem = stem(of: name)
        for other in (try? parent.names(path: path, containing: stem)) ?? [] {
            guard other.utf8.starts(with: stem.utf8),
                Hex.decode(other.utf8.dropFirst(stem.utf8.count))?.count == 8
            else { continue }
            let entry = DirectoryEntry(folder: parent, name: other, path: other)
            guard let folder = try? entry.open(O_RDONLY | O_DIRECTORY),
                linux_flock(folder.number, LOCK_EX | LOCK_NB) == 0
            else { continue }
            try? entry.removeTree()
        }
    }

    /// Copies a file of the tree into the folder. Throws if the copy's digest is not that of the
    /// row.
    func add(
        _ record: IndexRecord, named name: String, from root: RootDirectory,
        isCancelled: () -> Bool
    ) throws {
        let target = record.target
        do throws(Errno) {
            let source = try root.openFile(target.path)
            guard try source.status(path: target.path).isFile else {
                throw Errno(number: EISDIR, call: "open", path: target.path)
            }
            let file = try make(name, mode: record.isExecutable ? 0o755 : 0o644)
            try source.copy(to: file, path: name)
            let digests = try FileDigests.compute(
                file, algorithms: [.sha256], path: name, isCancelled: isCancelled)
            if digests?.first == record.sha256 { return }
        } catch { throw MirrorError(error, target: target) }
        if isCancelled() { throw MirrorError(wrapping: CancellationError()) }
        throw MirrorError(
            .sourceChanged,
            "\(target): it changed while it was copied, so nothing was exported. Run again.",
            target: target)
    }

    /// Adds a file with these bytes.
    func add(_ text: [UInt8], named name: String) throws {
        do throws(Errno) { try make(name, mode: 0o644).write(text, at: 0, path: name) } catch {
            throw MirrorError(error)
        }
    }

    private func make(_ path: String, mode: UInt32) throws(Errno) -> Descriptor {
        let (folder, name) = FolderCache.split(path)
        let parent = try folders.make(folder).descriptor
        return try DirectoryEntry(folder: parent, name: name, path: path)
            .open(O_RDWR | O_CREAT | O_EXCL, mode: mode)
    }

    /// Flushes all files to the disk, and gives the folder its final name.
    ///
    /// A former folder of that name is exchanged with the new one, and then removed.
    func promote() throws {
        do throws(Errno) {
            // The descriptor was opened before all writes, so syncfs(2) reports an error of any of
            // them.
            try retrying("syncfs", path) { linux_syncfs(content.descriptor.number) }
            guard let former else {
                try hidden.renameToFree(hidden.sibling(name))
                return try hidden.folder.flush(path: path)
            }
            try hidden.exchangeFolders(with: hidden.sibling(name))
            isExchanged = true
            // Another program may have changed the folder since it was read.
            guard (try? former.isUnchanged(hidden)) == true else {
                try hidden.exchangeFolders(with: hidden.sibling(name))
                isExchanged = false
                throw Errno(number: EEXIST, call: "renameat2", path: path)
            }
            try hidden.folder.flush(path: path)
            // The next export removes what stays.
            try? hidden.removeTree()
        } catch { throw ExportFolder.sentence(on: error, path: path) }
    }

    /// Removes the hidden folder and its files.
    func remove() { if !isExchanged { try? hidden.removeTree() } }
}

/// The folder that an export finds in its place, and whether it may be replaced.
///
/// A folder is replaced only if no bytes get lost: if the tree has all its files, too. So a
/// folder of an earlier export is replaced, and a folder with any other file stays.
struct FormerExport {
    /// A file of the folder.
    struct File: Hashable {
        let stamp: FileStamp
        let sha256: Digest
        let isExecutable: Bool
    }

    /// The folder's path.
    let path: String
    /// The files that were read, by their paths in the folder.
    private(set) var files: [String: File] = [:]
    /// The files that the format makes, by their paths in the folder. They were not read.
    private(set) var made: [String: FileStamp] = [:]
    /// An entry that no export of this tree can have put there. No further entry was looked at.
    private(set) var foreign: String?

    /// Reads the folder. Returns nil if no folder is there.
    ///
    /// - Parameters:
    ///   - path: the folder's path.
    ///   - makes: the paths of the files that the format makes.
    ///   - sizes: the sizes that files of the tree have. Any other file is foreign, unread.
    ///   - isCancelled: whether the caller's task was cancelled.
    init?(
        at path: String, makes: Set<String>, sizes: Set<Int64>, isCancelled: () -> Bool
    ) throws {
        let number = linux_openat(
            AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
        guard number >= 0 else { return nil }
        self.path = path
        do {
            foreign = try FormerExport.walk(Descriptor(owning: number)) { entry, status in
                if makes.contains(entry.path) {
                    made[entry.path] = status.stamp
                    return true
                }
                guard sizes.contains(status.stamp.size) else { return false }
                let read = try FileDigests.compute(
                    try entry.open(O_RDONLY), algorithms: [.sha256], path: entry.path,
                    isCancelled: isCancelled)
                guard let sha256 = read?.first else {
                    throw MirrorError(wrapping: CancellationError())
                }
                files[entry.path] = File(
                    stamp: status.stamp, sha256: sha256, isExecutable: status.mode & 0o111 != 0)
                return true
            }
        } catch let error as Errno { throw MirrorError(error) }
    }

    /// Whether the folder of an entry still has exactly the files that were read.
    func isUnchanged(_ folder: DirectoryEntry) throws -> Bool {
        var stamps = made
        for (name, file) in files { stamps[name] = file.stamp }
        var seen = 0
        let other = try FormerExport.walk(try folder.open(O_RDONLY | O_DIRECTORY)) {
            entry, status in
            seen += 1
            return stamps[entry.path] == status.stamp
        }
        return other == nil && seen == stamps.count
    }

    /// The error for a folder that stays, because an entry of it would get lost.
    func refusal(because name: String) -> MirrorError {
        MirrorError(
            .usage,
            "\(path.printable): it is there already, and an export replaces only files that the tree has: \(name.printable) is none of them. Name a folder that is not there yet."
        )
    }

    /// Calls the body with each regular file below a folder; `path` is relative to it.
    ///
    /// Returns the first entry that is neither a file nor a folder, or for which the body returns
    /// false.
    private static func walk(
        _ folder: Descriptor, below path: String = "",
        _ body: (DirectoryEntry, FileStatus) throws -> Bool
    ) throws -> String? {
        guard let names = try folder.allNames(path: path) else {
            return path + "a name that is not UTF-8"
        }
        for name in names {
            let entry = DirectoryEntry(folder: folder, name: name, path: path + name)
            guard let status = try entry.status() else { continue }
            if status.kind == .folder {
                let inner = try entry.open(O_RDONLY | O_DIRECTORY)
                if let other = try walk(inner, below: entry.path + "/", body) { return other }
            } else if try !status.isFile || !body(entry, status) {
                return entry.path
            }
        }
        return nil
    }
}
