internal import CLinux
internal import Glibc
internal import Synchronization

/// The sleep of a watch between two syncs, and all events that end the sleep.
package final class WatchSleep: Sendable {
    /// What ended a sleep.
    package enum Wake: Sendable, Hashable {
        /// The end of the sleep was reached.
        case time
        /// The file of a manifest may have changed.
        case manifestChanged
        /// A sync was requested (`request`).
        case requested
        /// An address or a route was added.
        case networkReturned
        /// The wall clock was set.
        case clockSet
        /// The task of the sleep was cancelled, so the watch must end.
        case cancelled
    }

    /// The longest wait in poll(2), in milliseconds.
    private static let longestWait: Int64 = 60_000
    /// Milliseconds for which a manifest must stay unchanged before the watch reads it.
    private static let quiet: Int64 = 100
    /// Milliseconds after which the watch reads a manifest even if it still changes.
    private static let longestUnrest: Int64 = 2000

    private let state = Mutex((isRequested: false, isCancelled: false))
    private let signal: WakeSignal
    private let alarm: Descriptor
    private let network = NetworkWatch()
    private let folders: Mutex<FolderWatch?>

    /// Prepares sleeps. Throws `MirrorError` with `inputOutput` if the process has no descriptors
    /// left.
    package init() throws {
        do throws(Errno) {
            signal = try WakeSignal()
            alarm = Descriptor(owning: try retrying("timerfd_create", "") { linux_alarm_make() })
        } catch { throw MirrorError(error) }
        folders = Mutex(FolderWatch())
    }

    /// Watches the files of these manifests and no others.
    ///
    /// A change during a sync ends the next sleep.
    package func watch(_ manifests: [ManifestSource]) {
        let paths = manifests.compactMap { if case .path(let path) = $0 { path } else { nil } }
        folders.withLock { $0?.watch(paths) }
    }

    /// Ends the present sleep, or else the next one, at once. Any thread may call it.
    package func request() {
        state.withLock { $0.isRequested = true }
        signal.raise()
    }

    /// Sleeps until one of the events in `Wake` ends the sleep.
    ///
    /// - Parameters:
    ///   - end: the end of the sleep by the wall clock.
    ///   - seconds: the greatest length of the sleep, whatever the wall clock says.
    ///   - heartbeat: `beat` is called every `milliseconds`.
    package func sleep(
        until end: Instant, atMost seconds: Int64, wakesForNetwork: Bool,
        heartbeat: (milliseconds: Int64, beat: @Sendable () -> Void)? = nil
    ) async throws -> Wake {
        state.withLock { $0.isCancelled = false }
        return try await withTaskCancellationHandler {
            try await Offload.run { [self] in
                let ceiling = linux_boot_time().addingSaturated(seconds * 1000)
                var nextBeat: Int64 = 0
                // Network events during the last sync do not count.
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

    /// The event that ends the sleep now. Returns nil if only the time can end it.
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

    /// Waits until no watched file has changed for 100 ms, because a writer may take several steps.
    private func waitUntilQuiet() {
        let end = linux_boot_time() + WatchSleep.longestUnrest
        repeat {
            signal.wait(milliseconds: Int32(WatchSleep.quiet))
            if state.withLock({ $0.isCancelled }) { return }
        } while linux_boot_time() < end && folders.withLock { $0?.hasChange() ?? false }
    }
}

/// Notices when a watched file was written, replaced or removed (inotify(7)).
///
/// inotify watches the folders and not the files, because a replaced file is a new file. For a
/// symbolic link, the link and its destination are both watched.
final class FolderWatch {
    /// The descriptor of inotify. It is readable while the kernel has events.
    let descriptor: Int32
    /// The names of the watched files in each watched folder, by the folder's inotify number.
    private var names: [Int32: Set<String>] = [:]

    /// Returns nil if the system has no watch left. Then the next sync notices changes.
    init?() {
        descriptor = linux_folder_watch()
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Watches these files and no others. Files that stay watched keep their unread events.
    func watch(_ paths: [String]) {
        var wanted: [Int32: Set<String>] = [:]
        for path in paths.flatMap(FolderWatch.places) {
            let watch = linux_folder_watch_add(descriptor, path.folder)
            // A folder that does not exist cannot be watched; the next sync tries again.
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
        // The kernel's queue was full, so events were lost and any file may have changed.
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

/// An event of a watched folder: `struct inotify_event`.
struct FolderEvent {
    /// The inotify number of the folder.
    let watch: Int32
    /// The name of the file in the folder. Empty if the event is about the folder itself.
    let name: String
    /// Whether the kernel has lost events.
    let isOverflow: Bool
    /// The number of bytes of the event.
    let length: Int

    private static let head = 16

    /// Reads the event at the start of the bytes. Returns nil if they have no whole event.
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
