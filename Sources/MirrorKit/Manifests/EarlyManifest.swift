internal import MirrorModel
internal import MirrorSystem
internal import MirrorTransfer
internal import Synchronization

/// A manifest that a program reads while it still parses its command line, which names it most likely.
///
/// Nothing is lost where it does not: only a short regular file is read, and an error is left to those who
/// read it once they know. Where the manifest's files are asked about in every run, what requests are made
/// with is loaded meanwhile, too.
package final class EarlyManifest: Sendable {
    /// The one that the command of this task may use.
    @TaskLocal package static var current: EarlyManifest?

    private typealias Waiter = CheckedContinuation<ManifestLoader.Loaded?, Never>

    private enum State {
        case waiting
        case reading
        case read(ManifestLoader.Loaded?)
        case claimed(Waiter?)
    }

    /// Bytes of the longest manifest that is read early: a longer one takes so long that people want to see
    /// how far it is.
    private static let mostBytes: Int64 = 1 << 20

    /// As the command line has it.
    package let path: String
    /// Whether requests are possible, whatever the manifest says.
    package let expectsRequests: Bool
    private let state = Mutex(State.waiting)

    package init(path: String, expectsRequests: Bool) {
        self.path = path
        self.expectsRequests = expectsRequests
    }

    /// Reads the manifest, unless it was claimed before, then loads what its requests are made with.
    func read() {
        let begins = state.withLock { state in
            guard case .waiting = state else { return false }
            state = .reading
            return true
        }
        guard begins else { return }
        let isShort = LocalManifest.fileSize(path).map { $0 <= Self.mostBytes } ?? false
        let loaded = isShort ? try? LocalManifest.read(path) : nil
        let waiter = state.withLock { state -> Waiter? in
            guard case .claimed(let waiter) = state else {
                state = .read(loaded)
                return nil
            }
            state = .claimed(nil)
            return waiter
        }
        waiter?.resume(returning: loaded)
        guard expectsRequests, let manifest = loaded?.decoded.manifest,
            let likely = manifest.likelyRequest(inEmptyTree: false)
        else { return }
        TransferLoop.prepare(forTLS: likely.scheme == .https, on: .caller)
    }

    /// The manifest at this path, once, for which the caller waits where it is being read; nil where it
    /// was not read.
    func claim(_ path: String) async -> ManifestLoader.Loaded? {
        guard path == self.path else { return nil }
        return await withCheckedContinuation { continuation in
            let (isKnown, loaded) = state.withLock { state -> (Bool, ManifestLoader.Loaded?) in
                switch state {
                case .reading:
                    state = .claimed(continuation)
                    return (false, nil)
                case .read(let loaded):
                    state = .claimed(nil)
                    return (true, loaded)
                case .waiting:
                    state = .claimed(nil)
                    return (true, nil)
                case .claimed: return (true, nil)
                }
            }
            if isKnown { continuation.resume(returning: loaded) }
        }
    }
}
