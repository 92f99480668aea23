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
        rate = configuration.limitRate?.least.map { max(1, $0 / Int64(StorePush.together)) }
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
        if done.source == address.description { return }
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
        if cancellation.isSet || state.withLock({ $0.stopped }) != nil {
            return state.withLock { $0.failed += 1 }
        }
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
            else { throw PushError.changed }
            // libcurl asks for no byte of an empty body, so nothing else would notice the change.
            if size == 0, sha256 != ByteHasher.digest(.sha256, of: []) { throw PushError.changed }
            let answer = try handle.put(
                file, size: size, sha256: sha256, at: address, settings, signer, rate: rate,
                isCancelled: { [cancellation] in cancellation.isSet })
            guard (200..<300).contains(answer) else {
                throw PushError("the store answered \(answer) to PUT")
            }
            note(isNew: true)
        } catch {
            if cancellation.isSet { return state.withLock { $0.failed += 1 } }
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
