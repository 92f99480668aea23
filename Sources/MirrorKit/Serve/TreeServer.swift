internal import Glibc

/// An HTTP server of a root's tree.
///
/// The server gives out the files that the index knows: by their targets, and by their digests as
/// `/cas/<sha256>`. It is read-only, without authentication. It takes no lock, and shows files that
/// a concurrent run promotes. It does not serve a file whose bytes are not as mirror put them
/// there. On a loopback address, it answers only requests that name the machine by an address or as
/// localhost.
package enum TreeServer {
    /// Serves a session's root until the task is cancelled. Then all connections end.
    ///
    /// - Parameters:
    ///   - address: where the server listens. Port 0 stands for any free port.
    ///   - onStart: called with the URL as soon as the server listens.
    ///   - onNote: called with sentences for people, for example about a changed file.
    /// - Throws: `MirrorError` with `usage` for an address that is taken or not of this machine,
    ///   `rootUnusable`, `indexNewer` or `inputOutput`.
    package static func serve(
        _ session: MirrorSession, at address: ListenAddress = ListenAddress(),
        onStart: @escaping @Sendable (String) -> Void = { _ in },
        onNote: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws {
        try session.requireRoot()
        let (server, watch) = try await Offload.run {
            try listen(session.location, at: address, note: onNote)
        }
        onStart("http://\(server.address)/")
        await waitForCancellation()
        try await Offload.run {
            server.stop()
            try watch.close()
        }
    }

    /// Starts a server that listens. Returns the server with its watch of the index.
    private static func listen(
        _ location: RootLocation, at address: ListenAddress,
        note: @escaping @Sendable (String) -> Void
    ) throws -> (HTTPServer, IndexWatch) {
        let root = try location.open()
        let watch = try IndexWatch(root)
        let responder = TreeResponder(root, watch, isLocal: address.isLoopback, note: note)
        do throws(MirrorError) {
            let server = try HTTPServer(
                at: address, reply: responder.reply, doubt: responder.doubt)
            return (server, watch)
        } catch {
            try watch.close()
            throw error
        }
    }

    /// Suspends until the task is cancelled.
    private static func waitForCancellation() async {
        let (stream, end) = AsyncStream.makeStream(of: Void.self)
        await withTaskCancellationHandler {
            for await _ in stream {}
        } onCancel: {
            end.finish()
        }
    }
}

/// Replies to requests from a tree and its index, without a lock or a change.
///
/// The responder serves only files with rows, and so no parts and no files of other programs. It
/// opens a file once, and compares the stamp of the open file with the row. So the bytes are the
/// row's, even if another file gets the name a moment later. If the stamp differs, or if an earlier
/// reply found other bytes, the file is read.
final class TreeResponder: Sendable {
    private let root: RootDirectory
    private let watch: IndexWatch
    private let search: DigestSearch
    private let known = KnownDigests()
    /// Whether the responder answers only requests that name this machine.
    private let isLocal: Bool
    private let note: @Sendable (String) -> Void

    init(
        _ root: RootDirectory, _ watch: IndexWatch, isLocal: Bool,
        note: @escaping @Sendable (String) -> Void
    ) {
        self.root = root
        self.watch = watch
        search = DigestSearch(watch)
        self.isLocal = isLocal
        self.note = note
    }

    func reply(to request: ServedRequest, isRepeated: Bool) -> ServerReply {
        do throws(MirrorError) {
            return try find(request, isRepeated: isRepeated)
        } catch {
            note(error.message)
            return .answer(.refusal(503), nil)
        }
    }

    func doubt(_ file: Descriptor) {
        if let status = try? file.status(path: "") { known.doubt(status) }
    }

    private func find(
        _ request: ServedRequest, isRepeated: Bool
    ) throws(MirrorError) -> ServerReply {
        guard request.namesOneHost else { return .answer(.refusal(400), nil) }
        guard request.method == "GET" || request.method == "HEAD" else {
            return .answer(.refusal(405), nil)
        }
        if isLocal, !ServedAnswer.namesThisMachine(request[.host]) {
            return .answer(.refusal(421), nil)
        }
        switch ServedPlace(path: request.path) {
        case .malformed: return .answer(.refusal(400), nil)
        case .nothing: return .answer(.refusal(404), nil)
        case .area(let area): return .answer(.redirect(toFolder: area.rawValue), nil)
        case .folder(let path): return try listing(of: path, for: request)
        case .file(let target): return try file(at: target, for: request, isRepeated)
        case .digest(let sha256): return try file(with: sha256, for: request, isRepeated)
        }
    }

    private func listing(
        of path: String, for request: ServedRequest
    ) throws(MirrorError) -> ServerReply {
        let after = request.after.flatMap { SourceURL.decoded($0) }
        guard let page = try page(of: path, after: after, try watch.current().index) else {
            return .answer(.refusal(404), nil)
        }
        return .answer(page.answer(asJSON: request.prefersJSON), nil)
    }

    private func file(
        at target: Target, for request: ServedRequest, _ isRepeated: Bool
    ) throws(MirrorError) -> ServerReply {
        let index = try watch.current().index
        guard let row = try index.servedFile(at: target) else {
            if let reply = try promoted(target, since: nil, for: request, isRepeated) {
                return reply
            }
            let beneath = try index.servedFiles(
                beneath: target.path + "/", from: target.path + "/", isIncluded: false, most: 1)
            return .answer(
                beneath.isEmpty ? .refusal(404) : .redirect(toFolder: target.path), nil)
        }
        switch open(row) {
        case .absent: return .answer(.refusal(404), nil)
        case .good(let file, let served):
            return .answer(ServedAnswer(to: request, with: served), file)
        case .changed:
            return try promoted(target, since: row, for: request, isRepeated)
                ?? .answer(.refusal(503), nil)
        case .doubtful(let file, let status):
            if let reply = try promoted(target, since: row, for: request, isRepeated) {
                return reply
            }
            return isRepeated ? .answer(.refusal(503), nil) : reading(file, status, row)
        }
    }

    /// The reply with a version that a promotion has put at the target. Returns nil if there is
    /// none.
    ///
    /// A promotion may have come between the reading of the row and the opening of the file. Or the
    /// version's row is not written yet: the rows of a set are written after its last rename. An
    /// interrupted set may stay without its rows for a long time.
    private func promoted(
        _ target: Target, since row: ServedFile?, for request: ServedRequest, _ isRepeated: Bool
    ) throws(MirrorError) -> ServerReply? {
        let index = try watch.current().index
        if let newer = try index.servedFile(at: target), newer != row,
            case .good(let file, let served) = open(newer)
        {
            return .answer(ServedAnswer(to: request, with: served), file)
        }
        for intended in try index.intendedFiles(at: target) {
            switch open(intended) {
            case .good(let file, let served):
                return .answer(ServedAnswer(to: request, with: served), file)
            case .doubtful(let file, let status)
            where !isRepeated && status.stamp.inode == intended.stamp.inode:
                // A rename keeps the inode and changes the ctime, so only the inode is compared.
                return reading(file, status, intended)
            default: continue
            }
        }
        return nil
    }

    private func file(
        with sha256: Digest, for request: ServedRequest, _ isRepeated: Bool
    ) throws(MirrorError) -> ServerReply {
        switch try search.files(with: sha256) {
        case .absent: return .answer(.refusal(404), nil)
        case .notNow: return .answer(.refusal(503), nil)
        case .unknown:
            if isRepeated { return .answer(.refusal(503), nil) }
            return .work { [search, note] cancellation in
                do throws(MirrorError) { try search.prepare(cancellation) } catch {
                    note(error.message)
                }
            }
        case .found(let rows):
            var work: ServerReply?
            for row in rows {
                switch open(row) {
                case .good(let file, var served):
                    served.isNamedByDigest = true
                    return .answer(ServedAnswer(to: request, with: served), file)
                case .doubtful(let file, let status): work = reading(file, status, row)
                case .absent, .changed: continue
                }
            }
            if !isRepeated, let work { return work }
            return .answer(.refusal(work == nil ? 404 : 503), nil)
        }
    }
}

// MARK: The file of a row

extension TreeResponder {
    private enum Opened {
        /// The file has the row's bytes. The stamp in the value is that of the open file.
        case good(Descriptor, ServedFile)
        /// The stamp differs from the row's, and the file was not read yet.
        case doubtful(Descriptor, FileStatus)
        /// The file has other bytes than the row.
        case changed
        case absent
    }

    private func open(_ row: ServedFile) -> Opened {
        do throws(Errno) {
            let file = try root.openFile(row.target.path)
            let status = try file.status(path: row.target.path)
            guard status.isFile else { return .absent }
            guard status.stamp.size == row.stamp.size else { return .changed }
            let digest =
                status.stamp == row.stamp
                ? known.digest(of: status, expected: row.sha256) : known.digest(of: status)
            guard let digest else { return .doubtful(file, status) }
            guard digest == row.sha256 else { return .changed }
            var served = row
            served.stamp = status.stamp
            return .good(file, served)
        } catch {
            switch error.number {
            case ENOENT, ELOOP, ENOTDIR, ENXIO: return .absent
            default:
                note(MirrorError(error, target: row.target).message)
                return .changed
            }
        }
    }

    /// Returns the work that reads a file whose stamp differs from its row's.
    private func reading(
        _ file: Descriptor, _ status: FileStatus, _ row: ServedFile
    ) -> ServerReply {
        .work { [known, note] cancellation in
            let path = row.target.path
            do throws(Errno) {
                // Another request may have read the file while this one waited.
                if known.digest(of: status) != nil { return }
                let digests = try FileDigests.compute(
                    file, algorithms: [.sha256], path: path, isCancelled: { cancellation.isSet })
                let after = try file.status(path: path)
                guard let digest = digests?.first, after.stamp == status.stamp else { return }
                known.note(digest, of: status)
                guard digest != row.sha256 else { return }
                note("\(path): it was changed since mirror put it there, and is not served.")
            } catch { note(MirrorError(error, target: row.target).message) }
        }
    }
}

// MARK: Listings

extension TreeResponder {
    /// How many rows the listing reads at once.
    private static let batch: Int64 = 512

    /// A page of a folder's listing, from the rows of the index.
    ///
    /// Returns nil if no file is under the folder. The root and the areas always have a page.
    ///
    /// - Parameter after: the name of the last entry of the previous page.
    private func page(
        of path: String, after: String?, _ index: Index
    ) throws(MirrorError) -> ServedListing? {
        let prefix = path.isEmpty ? "" : path + "/"
        var listing = ServedListing(path: path)
        var start = prefix
        if let after {
            // A folder sorts as if its name ended in a slash, so a file of the same name has
            // another place.
            start = prefix + after
            if after.utf8.last == UInt8(ascii: "/") {
                start = start.prefix(bytes: start.utf8.count - 1) + "0"
            }
        }
        var isIncluded = after.map { $0.utf8.last == UInt8(ascii: "/") } ?? true
        var scan = StatCursor(root)
        var hasRows = false
        while true {
            let rows = try index.servedFiles(
                beneath: prefix, from: start, isIncluded: isIncluded, most: TreeResponder.batch)
            guard let last = rows.last else { break }
            hasRows = true
            (start, isIncluded) = (last.target.path, false)
            for row in rows {
                let rest = String(row.target.path.utf8.dropFirst(prefix.utf8.count)) ?? ""
                guard let (folder, _) = rest[...].halves(atFirst: "/") else {
                    if let entry = try entry(rest, row, &scan), listing.add(entry) {
                        return listing
                    }
                    continue
                }
                if listing.add(ServedListing.Entry(name: String(folder))) { return listing }
                // Skips all files in the folder: "0" is the byte after the slash.
                (start, isIncluded) = (prefix + folder + "0", true)
                break
            }
        }
        if hasRows || path.isEmpty || Area(rawValue: path) != nil { return listing }
        // After the last entry the page is empty. It exists only if the folder does.
        let first = try index.servedFiles(
            beneath: prefix, from: prefix, isIncluded: false, most: 1)
        return first.isEmpty ? nil : listing
    }

    /// The entry of a file. Returns nil if the file does not exist.
    private func entry(
        _ name: String, _ row: ServedFile, _ scan: inout StatCursor
    ) throws(MirrorError) -> ServedListing.Entry? {
        guard case .file(let stamp) = try scan.look(at: row.target) else { return nil }
        var file = row
        file.stamp.modified = stamp.modified
        return ServedListing.Entry(name: name, file: file)
    }
}
