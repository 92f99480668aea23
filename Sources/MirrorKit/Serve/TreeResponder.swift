internal import Glibc
internal import MirrorModel
internal import MirrorServer
internal import MirrorStore
internal import MirrorSystem

/// Answers requests from a tree and its index; it takes no lock and changes nothing.
///
/// It serves what the index knows, and so neither parts nor files that mirror did not put there. A
/// file is opened once, and its stamp is compared with the row: the bytes of the open file are the
/// row's, whatever has its name in the next moment. If the stamp is another one, or an answer showed
/// that the bytes are others, the file is read.
final class TreeResponder: Responder {
    private let root: RootDirectory
    private let watch: IndexWatch
    private let search: DigestSearch
    private let known = KnownDigests()
    /// Whether only requests that name this machine are answered.
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
        let listing = TreeListing(root: root, index: try watch.current().index)
        let after = request.after.flatMap { SourceURL.decoded($0) }
        guard let page = try listing.page(of: path, after: after) else {
            return .answer(.refusal(404), nil)
        }
        return .answer(page.answer(asJSON: request.prefersJSON), nil)
    }

    private func file(
        at target: Target, for request: ServedRequest, _ isRepeated: Bool
    ) throws(MirrorError) -> ServerReply {
        let index = try watch.current().index
        guard let row = try index.served.file(at: target) else {
            if let reply = try promoted(target, since: nil, for: request, isRepeated) {
                return reply
            }
            let beneath = try index.served.files(
                beneath: target.path + "/", from: target.path + "/", isIncluded: false, most: 1)
            return .answer(
                beneath.isEmpty ? .refusal(404) : .redirect(toFolder: target.path), nil)
        }
        switch open(row) {
        case .absent: return .answer(.refusal(404), nil)
        case .good(let file, let representation):
            return .answer(ServedAnswer(to: request, with: representation), file)
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

    /// The reply if a promotion came between the look at the row and the look at the file, or has put a
    /// version there whose row is not written yet; else nil.
    ///
    /// The rows of a set are written after the last of its files has its name, and a set that was
    /// interrupted may wait for long.
    private func promoted(
        _ target: Target, since row: ServedFile?, for request: ServedRequest, _ isRepeated: Bool
    ) throws(MirrorError) -> ServerReply? {
        let index = try watch.current().index
        if let newer = try index.served.file(at: target), newer != row,
            case .good(let file, let representation) = open(newer)
        {
            return .answer(ServedAnswer(to: request, with: representation), file)
        }
        for intended in try index.served.intendedFiles(at: target) {
            switch open(intended) {
            case .good(let file, let representation):
                return .answer(ServedAnswer(to: request, with: representation), file)
            case .doubtful(let file, let status)
            where !isRepeated && status.stamp.inode == intended.stamp.inode:
                // A rename keeps the inode, and changes the time of the last change.
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
                case .good(let file, var representation):
                    representation.isNamedByDigest = true
                    return .answer(ServedAnswer(to: request, with: representation), file)
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
        /// Its bytes are the row's.
        case good(Descriptor, Representation)
        /// Its stamp is not the row's, and it was not read yet.
        case doubtful(Descriptor, FileStatus)
        /// Its bytes are others.
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
            return .good(file, row.representation(modified: status.stamp.modified))
        } catch {
            switch error.number {
            case ENOENT, ELOOP, ENOTDIR, ENXIO: return .absent
            default:
                note(MirrorError(error, target: row.target).message)
                return .changed
            }
        }
    }

    /// Reads a file whose stamp is not the row's.
    private func reading(
        _ file: Descriptor, _ status: FileStatus, _ row: ServedFile
    ) -> ServerReply {
        .work { [known, note] cancellation in
            let path = row.target.path
            do throws(Errno) {
                // Many may have waited for the same file.
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
