internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The sleep of a watch between two syncs, and everything that ends it.
package final class WatchSleep: Sendable {
    /// What ended a sleep.
    package enum Wake: Sendable, Hashable {
        /// Its time came.
        case time
        /// A manifest's file may have changed.
        case manifestChanged
        /// A sync was requested.
        case requested
        /// An address or a route was added.
        case networkReturned
        /// The wall clock was set.
        case clockSet
        /// The watch is to end.
        case cancelled
    }

    /// The longest wait in the kernel, in milliseconds.
    private static let longestWait: Int64 = 60_000
    /// Milliseconds for which a manifest must not have changed before it is read.
    private static let quiet: Int64 = 100
    /// Milliseconds after which a manifest is read even if it still changes.
    private static let longestUnrest: Int64 = 2000

    private let state = Mutex((isRequested: false, isCancelled: false))
    private let signal: WakeSignal
    private let alarm: Descriptor
    private let network = NetworkWatch()
    private let folders: Mutex<FolderWatch?>

    /// Throws `MirrorError` with `inputOutput` where the process has no descriptors left.
    package init() throws {
        do throws(Errno) {
            signal = try WakeSignal()
            alarm = Descriptor(owning: try retrying("timerfd_create", "") { linux_alarm_make() })
        } catch { throw MirrorError(error) }
        folders = Mutex(FolderWatch())
    }

    /// Watches the files of these manifests and no others; a change during a sync ends the next sleep.
    package func watch(_ manifests: [ManifestSource]) {
        let paths = manifests.compactMap { if case .path(let path) = $0 { path } else { nil } }
        folders.withLock { $0?.watch(paths) }
    }

    /// Ends the sleep, or the next one, at once. May be called by any thread.
    package func request() {
        state.withLock { $0.isRequested = true }
        signal.raise()
    }

    /// Sleeps until something ends it.
    ///
    /// - Parameters:
    ///   - end: when it ends by the wall clock.
    ///   - seconds: after how many seconds it ends whatever the clock says.
    ///   - heartbeat: is called every so many milliseconds.
    package func sleep(
        until end: Instant, atMost seconds: Int64, wakesForNetwork: Bool,
        heartbeat: (milliseconds: Int64, beat: @Sendable () -> Void)? = nil
    ) async throws -> Wake {
        state.withLock { $0.isCancelled = false }
        return try await withTaskCancellationHandler {
            try await Offload.run { [self] in
                let ceiling = linux_boot_time().addingSaturated(seconds * 1000)
                var nextBeat: Int64 = 0
                // Discard network events from during the sync.
                _ = network?.hasReturned()
                while true {
                    if let wake = wake(wakesForNetwork: wakesForNetwork) { return wake }
                    let now = linux_boot_time()
                    if now >= ceiling || SystemClock.now() >= end { return .time }
                    var wait = min(WatchSleep.longestWait, ceiling - now)
                    if let heartbeat {
                        if now >= nextBeat {
                            heartbeat.beat()
                            nextBeat = now + heartbeat.milliseconds
                        }
                        wait = min(wait, max(1, nextBeat - now))
                    }
                    if linux_alarm_set(alarm.number, end.milliseconds) == -ECANCELED {
                        return .clockSet
                    }
                    poll(for: wait)
                }
            }
        } onCancel: {
            state.withLock { $0.isCancelled = true }
            signal.raise()
        }
    }

    /// What ends the sleep now, but for the time.
    private func wake(wakesForNetwork: Bool) -> Wake? {
        signal.clear()
        let wish = state.withLock { state in
            defer { state.isRequested = false }
            return state
        }
        if wish.isCancelled { return .cancelled }
        if wish.isRequested { return .requested }
        if folders.withLock({ $0?.hasChange() ?? false }) {
            waitUntilQuiet()
            return .manifestChanged
        }
        if network?.hasReturned() == true, wakesForNetwork { return .networkReturned }
        if linux_alarm_read(alarm.number) == -ECANCELED { return .clockSet }
        return nil
    }

    private func poll(for milliseconds: Int64) {
        let descriptors = [
            signal.descriptor, alarm.number, folders.withLock { $0?.descriptor },
            network?.descriptor,
        ]
        var entries = descriptors.compactMap { $0 }.map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        _ = Glibc.poll(&entries, nfds_t(entries.count), Int32(clamping: milliseconds))
    }

    /// Waits until no watched file has changed for 100 ms: a writer may take several steps.
    private func waitUntilQuiet() {
        let end = linux_boot_time() + WatchSleep.longestUnrest
        repeat {
            signal.wait(milliseconds: Int32(WatchSleep.quiet))
            if state.withLock({ $0.isCancelled }) { return }
        } while linux_boot_time() < end && folders.withLock { $0?.hasChange() ?? false }
    }
}

/// Tells when one of the watched files was written, replaced or removed (inotify(7)).
///
/// It watches the folders, and not the files: a file that is replaced is another file afterwards. Of
/// a symbolic link it watches the link and the file that it leads to.
final class FolderWatch {
    /// Readable while something waits to be read.
    let descriptor: Int32
    /// The names that matter in each watched folder.
    private var names: [Int32: Set<String>] = [:]

    /// Returns nil where the system gives none: then changes are seen at the next sync.
    init?() {
        descriptor = linux_folder_watch()
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Watches these files and no others. Earlier changes of files that stay watched are still
    /// reported.
    func watch(_ paths: [String]) {
        var wanted: [Int32: Set<String>] = [:]
        for path in paths.flatMap(FolderWatch.places) {
            let watch = linux_folder_watch_add(descriptor, path.folder)
            // A folder that is not there cannot be watched; the next sync tries again.
            if watch >= 0 { wanted[watch, default: []].insert(path.name) }
        }
        for watch in names.keys where wanted[watch] == nil {
            linux_folder_watch_remove(descriptor, watch)
        }
        names = wanted
    }

    /// Whether one of the files may have changed since the last call.
    func hasChange() -> Bool {
        var isChanged = false
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return isChanged }
            buffer.withUnsafeBytes { bytes in
                var offset = 0
                while let event = FolderEvent(bytes[offset..<count]) {
                    offset += event.length
                    if concerns(event) { isChanged = true }
                }
            }
        }
    }

    private func concerns(_ event: FolderEvent) -> Bool {
        // Messages that did not fit into the kernel's queue are lost.
        if event.isOverflow { return true }
        guard let names = names[event.watch] else { return false }
        return event.name.isEmpty || names.contains(event.name)
    }

    /// The place of a file and, for a link, the place of its destination.
    private static func places(_ path: String) -> [(folder: String, name: String)] {
        let places = [canonicalPath(path)] + [resolvedPath(path)].compactMap { $0 }
        return Set(places).compactMap { path in
            guard let slash = path.lastIndex(of: "/") else { return nil }
            let folder = slash == path.startIndex ? "/" : String(path[..<slash])
            return (folder, String(path[path.index(after: slash)...]))
        }
    }
}

/// A message about a watched folder: `struct inotify_event`.
struct FolderEvent {
    /// The number of the watch.
    let watch: Int32
    /// The name in the folder; empty where the message is about the folder itself.
    let name: String
    /// Whether messages were lost.
    let isOverflow: Bool
    /// The bytes that the message takes.
    let length: Int

    private static let head = 16

    /// The message that the bytes begin with; nil where there is no whole one.
    init?(_ bytes: Slice<UnsafeRawBufferPointer>) {
        guard bytes.count >= FolderEvent.head else { return nil }
        let event = UnsafeRawBufferPointer(rebasing: bytes)
        let count = Int(event.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        guard event.count - FolderEvent.head >= count else { return nil }
        watch = event.loadUnaligned(as: Int32.self)
        isOverflow =
            event.loadUnaligned(fromByteOffset: 4, as: UInt32.self) & UInt32(IN_Q_OVERFLOW) != 0
        let name = event[FolderEvent.head..<(FolderEvent.head + count)].prefix { $0 != 0 }
        self.name = String(decoding: name, as: UTF8.self)
        length = FolderEvent.head + count
    }
}
