internal import CCurl
internal import CLinux
internal import Glibc
internal import Synchronization

/// Puts files that a run has promoted into a store: `PUT cas/<sha256>`, where HEAD finds nothing.
///
/// Up to four threads send files, while the run goes on. The bytes are hashed as they are sent, and
/// the last ones are held back if the file is not what it was. So a store never gets a complete
/// file with other bytes. A failure costs the run nothing but a warning.
final class StorePush: Sendable {
    private struct State {
        var waiting = 0
        var pushed = 0
        var failed = 0
        var failuresInARow = 0
        /// Why the store gets no further file in this run.
        var stopped: String?
        var warnings: [String] = []
        /// Handles with open connections.
        var idle: [PushHandle] = []
    }

    private let store: Store
    private let url: SourceURL
    private let root: RootDirectory
    private let settings: TransferSettings
    private let signer: S3Signer?
    private let rate: Int64?
    private let state = Mutex(State())
    private let pool = WorkPool(name: "store", threads: StorePush.together)
    private let cancellation = CancellationFlag()

    private static let together = 4
    /// After so many failures in a row the store gets no further file.
    private static let mostFailures = 3

    /// Returns nil if the configuration names no store for pushes.
    init?(_ configuration: Configuration, root: RootDirectory) {
        guard let text = configuration.storePush, let store = try? Store(text), let url = store.url
        else { return nil }
        (self.store, self.url, self.root) = (store, url, root)
        settings = TransferSettings(configuration)
        signer = url.scheme == .s3 ? try? S3Signer(configuration) : nil
        rate = configuration.limitRate?.least
    }

    /// Adds a file if the run has fetched it, and not from this store.
    func add(_ done: Event.Done) {
        switch done.outcome {
        case .fetched, .resumed, .updated, .repaired, .conflict: break
        default: return
        }
        guard let sha256 = done.sha256 else { return }
        let name = Store.address(of: sha256, below: url)
        let address = signer?.place.address(of: name) ?? name
        if done.source == address.description || state.withLock({ $0.stopped }) != nil { return }
        state.withLock { $0.waiting += 1 }
        let target = done.target
        if !pool.submit({ self.push(target, sha256, to: address) }) {
            state.withLock { $0.waiting -= 1 }
        }
    }

    /// How many files wait or are being sent.
    var left: Int { state.withLock { $0.waiting } }

    /// The warnings since the last call, as sentences.
    func takeWarnings() -> [String] {
        state.withLock { state in
            defer { state.warnings = [] }
            return state.warnings
        }
    }

    /// Ends what is under way, and sends nothing more.
    func cancel() { cancellation.set() }

    /// Waits for the files under way, and returns how many were put there and how many failed.
    func finish() -> (pushed: Int, failed: Int) {
        pool.stop()
        return state.withLock { state in
            state.idle = []
            return (state.pushed, state.failed)
        }
    }

    private func push(_ target: Target, _ sha256: Digest, to address: SourceURL) {
        defer { state.withLock { $0.waiting -= 1 } }
        if cancellation.isSet || state.withLock({ $0.stopped }) != nil { return }
        let handle = state.withLock { $0.idle.popLast() } ?? PushHandle()
        defer { state.withLock { $0.idle.append(handle) } }
        do {
            let status = try handle.ask(
                address, settings, signer, isCancelled: { [cancellation] in cancellation.isSet })
            if (200..<300).contains(status) { return note(isNew: false) }
            guard StatusCode.meansAbsent(status) || [405, 501].contains(status) else {
                throw PushError("the store answered \(status) to HEAD")
            }
            guard let file = try? root.openFile(target.path),
                let size = (try? file.status(path: target.path)).flatMap({
                    $0.isFile ? $0.stamp.size : nil
                })
            else { return }
            let answer = try handle.put(
                file, size: size, sha256: sha256, at: address, settings, signer, rate: rate,
                isCancelled: { [cancellation] in cancellation.isSet })
            guard (200..<300).contains(answer) else {
                throw PushError("the store answered \(answer) to PUT")
            }
            note(isNew: true)
        } catch {
            if cancellation.isSet { return }
            note(failure: "\(target): \((error as? PushError)?.cause ?? "\(error)")")
        }
    }

    private func note(isNew: Bool) {
        state.withLock { state in
            state.failuresInARow = 0
            if isNew { state.pushed += 1 }
        }
    }

    private func note(failure: String) {
        state.withLock { state in
            state.failed += 1
            state.failuresInARow += 1
            if state.failed == 1 {
                state.warnings.append("\(store.place): \(failure). It lacks this file.")
            }
            guard state.failuresInARow >= StorePush.mostFailures, state.stopped == nil else {
                return
            }
            state.stopped = failure
            state.warnings.append(
                "\(store.place): \(StorePush.mostFailures) files in a row could not be put there. It gets no further file in this run."
            )
        }
    }
}

/// Why a file was not put into a store: the middle of a sentence.
struct PushError: Error {
    let cause: String

    init(_ cause: String) { self.cause = cause }
}

/// A libcurl handle that sends one request at a time and keeps its connection.
///
/// Only one thread uses it at a time: `StorePush` gives it out and takes it back.
final class PushHandle: @unchecked Sendable {
    private let easy = EasyHandle()

    /// What libcurl's callbacks need of a request.
    fileprivate final class Body {
        let file: Descriptor?
        let size: Int64
        let sha256: Digest?
        let isCancelled: () -> Bool
        var offset: Int64 = 0
        var hasher: ByteHasher? = ByteHasher(.sha256)
        var isOther = false

        init(file: Descriptor?, size: Int64, sha256: Digest?, isCancelled: @escaping () -> Bool) {
            (self.file, self.size, self.sha256) = (file, size, sha256)
            self.isCancelled = isCancelled
        }

        /// Fills a buffer. Returns nil to end the request: the file cannot be read, or has changed.
        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
            guard let file else { return 0 }
            let rest = UnsafeMutableRawBufferPointer(
                rebasing: buffer[..<min(buffer.count, Int(clamping: size - offset))])
            guard let count = try? file.read(into: rest, at: offset, path: "") else { return nil }
            hasher?.update(UnsafeRawBufferPointer(rebasing: rest[..<count]))
            offset += Int64(count)
            guard count == rest.count else {
                isOther = true
                return nil
            }
            // The server must not get the last bytes of a file that is not what it was.
            if offset == size, let digest = hasher.take()?.finish(), digest != sha256 {
                isOther = true
                return nil
            }
            return count
        }
    }

    /// Asks for the head of a URL. Returns the status.
    func ask(
        _ url: SourceURL, _ settings: TransferSettings, _ signer: S3Signer?,
        isCancelled: @escaping () -> Bool
    ) throws -> Int {
        settings.preparePush(easy, to: url, size: nil, sha256: nil, signer: signer)
        return try perform(
            Body(file: nil, size: 0, sha256: nil, isCancelled: isCancelled), settings)
    }

    /// Sends a file. Returns the status.
    func put(
        _ file: Descriptor, size: Int64, sha256: Digest, at url: SourceURL,
        _ settings: TransferSettings, _ signer: S3Signer?, rate: Int64?,
        isCancelled: @escaping () -> Bool
    ) throws -> Int {
        settings.preparePush(easy, to: url, size: size, sha256: sha256, signer: signer)
        if let rate { easy.set(CURLOPT_MAX_SEND_SPEED_LARGE, offset: max(1, rate)) }
        return try perform(
            Body(file: file, size: size, sha256: sha256, isCancelled: isCancelled), settings)
    }

    private func perform(_ body: Body, _ settings: TransferSettings) throws -> Int {
        let context = Unmanaged.passUnretained(body).toOpaque()
        easy.set(CURLOPT_READDATA, pointer: context)
        easy.set(CURLOPT_READFUNCTION, callback: pushRead)
        easy.set(CURLOPT_WRITEFUNCTION, callback: pushIgnore)
        easy.set(CURLOPT_XFERINFODATA, pointer: context)
        _ = ccurl_set_progress_callback(easy.handle, pushProgress)
        easy.set(CURLOPT_NOPROGRESS, 0)
        let code = withExtendedLifetime(body) { curl_easy_perform(easy.handle) }
        if code == CURLE_OK { return ccurl_get_long(easy.handle, CURLINFO_RESPONSE_CODE) }
        if body.isOther { throw PushError("it is not the file any more that was fetched") }
        let status = ccurl_get_long(easy.handle, CURLINFO_RESPONSE_CODE)
        // A server may refuse a body and hang up before it has all of it.
        if status >= 400 { return status }
        let detail = easy.errorDetail
        throw PushError(detail.isEmpty ? easy.words(for: code) : detail)
    }
}

private func pushRead(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let context else { return Int(CURL_READFUNC_ABORT) }
    let body = Unmanaged<PushHandle.Body>.fromOpaque(context).takeUnretainedValue()
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return body.read(into: buffer) ?? Int(CURL_READFUNC_ABORT)
}

private func pushIgnore(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int { size * count }

private func pushProgress(
    _ context: UnsafeMutableRawPointer?, _ total: Int, _ now: Int, _ sendTotal: Int, _ sent: Int
) -> Int32 {
    guard let context else { return 0 }
    let body = Unmanaged<PushHandle.Body>.fromOpaque(context).takeUnretainedValue()
    return body.isCancelled() ? 1 : 0
}
