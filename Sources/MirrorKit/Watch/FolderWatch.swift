internal import CLinux
internal import Glibc
internal import MirrorSystem

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
        let places = [LocalManifest.canonical(path)] + [resolved(path)].compactMap { $0 }
        return Set(places).compactMap { path in
            guard let slash = path.lastIndex(of: "/") else { return nil }
            let folder = slash == path.startIndex ? "/" : String(path[..<slash])
            return (folder, String(path[path.index(after: slash)...]))
        }
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
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
