internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem
internal import MirrorTransfer
internal import Synchronization

/// A manifest that a program reads while it still parses its command line, which most likely names it.
///
/// Only a short regular file is read. An error is left to those who read it once they know that it is named,
/// and so is a file that has changed since. Where every run asks about the manifest's files, what requests are
/// made with is loaded meanwhile, too.
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
    /// Whether the words allow requests. A setting may still forbid them: then it is loaded in vain.
    package let expectsRequests: Bool
    private let state = Mutex(State.waiting)

    package init(path: String, expectsRequests: Bool) {
        self.path = path
        self.expectsRequests = expectsRequests
    }

    /// Reads the manifest, then loads what its requests are made with. Returns false, and reads nothing, where
    /// it was claimed before.
    @discardableResult
    func read() -> Bool {
        let begins = state.withLock { state in
            guard case .waiting = state else { return false }
            state = .reading
            return true
        }
        guard begins else { return false }
        let isShort = FileStatus.stamp(following: path).map { $0.size <= Self.mostBytes } ?? false
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
        else { return true }
        TransferLoop.prepare(forTLS: likely.scheme == .https, on: .caller)
        return true
    }

    /// The manifest at this path, once, for which the caller waits where it is being read; nil where it
    /// was not read. Its file may have changed since: `isCurrent`.
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

    /// Frees the manifest, which nobody will claim any more.
    func drop() {
        state.withLock { state in
            if case .claimed = state { return }
            state = .claimed(nil)
        }
    }

    /// Whether the file at this path is still the one that was read, by its stamp.
    static func isCurrent(_ loaded: ManifestLoader.Loaded, at path: String) -> Bool {
        guard let stamp = loaded.memory?.record.stamp else { return false }
        return FileStatus.stamp(following: path) == stamp
    }
}
