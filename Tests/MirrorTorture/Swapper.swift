internal import CTestSupport
internal import MirrorTestSupport
internal import Glibc
internal import Synchronization

/// Folders of a tree that somebody swaps for symbolic links and back, as fast as the kernel can.
///
/// While a link stands in a folder's place, the folder stands in the link's, in a folder of the root
/// that nobody looks into. All of it is done below open descriptors, so that no swap goes through
/// a link that another one has put there.
final class Swapper: Sendable {
    /// How long folders and links stay, in microseconds.
    struct Pace { let home: UInt32, away: UInt32 }

    private struct Place: Sendable {
        let parent: Int32
        let name: String
        let link: String
    }

    private struct State {
        var isOver = false
        var hasEnded = false
        var swaps = 0
    }

    private let places: [Place]
    private let away: Int32
    private let state = Mutex(State())

    /// Takes folders of a root by their paths, and where the links shall lead.
    init(root: Folder, folders: [String], outside: Folder) throws {
        try root.makeFolders(above: ".away/.")
        away = open(root.full(".away"), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        var places: [Place] = []
        for (number, folder) in folders.enumerated() {
            let parts = folder.split(separator: "/")
            let above = parts.dropLast().joined(separator: "/")
            let link = String(number)
            symlink(outside.full(folder), root.full(".away/" + link))
            places.append(
                Place(
                    parent: open(root.full(above), O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                    name: String(parts.last ?? ""), link: link))
        }
        self.places = places
    }

    deinit {
        for place in places { close(place.parent) }
        close(away)
    }

    /// Swaps until `stop()`, in a thread of its own.
    func start(_ pace: Pace) {
        DetachedThread.start { [self] in
            var swaps = 0
            while !state.withLock({ $0.isOver }) {
                var swapped: [Place] = []
                for place in places where swap(place) { swapped.append(place) }
                if pace.away > 0 { usleep(pace.away) }
                for place in swapped.reversed() where !swap(place) {
                    // Only what was removed meanwhile cannot come back.
                    unlinkat(place.parent, place.name, 0)
                }
                swaps += swapped.count
                if pace.home > 0 { usleep(pace.home) }
            }
            state.withLock {
                $0.swaps = swaps
                $0.hasEnded = true
            }
        }
    }

    /// Ends it with every folder in its own place; gives the number of times that a link stood there.
    func stop() -> Int {
        state.withLock { $0.isOver = true }
        while !state.withLock({ $0.hasEnded }) { usleep(500) }
        return state.withLock { $0.swaps }
    }

    private func swap(_ place: Place) -> Bool {
        test_exchange(place.parent, place.name, away, place.link) == 0
    }
}
