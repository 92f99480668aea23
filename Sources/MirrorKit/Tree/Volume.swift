internal import CLinux
internal import Glibc

/// One file system under a root, and how many bytes fit on it (statvfs(3)).
struct Volume: Hashable {
    /// The folder that was queried, relative to the root; empty for the root itself.
    let place: String
    /// The areas on it, in the order of `Area.allCases`.
    var areas: [Area]
    /// Bytes that this process may still write; blocks kept for root do not count.
    let availableBytes: Int64

    /// Queries the root and its areas. Returns the distinct file systems, the root's first.
    ///
    /// An area that does not exist yet lies on the root's file system.
    static func all(of root: RootDirectory) throws(Errno) -> [Volume] {
        var volumes: [Volume] = []
        var devices: [UInt64] = []
        func add(_ folder: Descriptor, place: String, area: Area?) throws(Errno) {
            let device = try folder.status(path: place).device
            if let at = devices.firstIndex(of: device) {
                if let area { volumes[at].areas.append(area) }
                return
            }
            devices.append(device)
            let bytes = try available(folder, path: place)
            volumes.append(
                Volume(place: place, areas: area.map { [$0] } ?? [], availableBytes: bytes))
        }
        try add(root.descriptor, place: "", area: nil)
        for area in Area.allCases {
            do throws(Errno) {
                try add(try root.openFolder(area.rawValue), place: area.rawValue, area: area)
            } catch {
                if error.number != ENOENT { throw error }
                volumes[0].areas.append(area)
            }
        }
        return volumes
    }

    /// Returns the absolute path of the folder that was queried.
    func path(in root: RootDirectory) -> String {
        place.isEmpty ? root.path : root.path + "/" + place
    }

    private static func available(_ folder: Descriptor, path: String) throws(Errno) -> Int64 {
        var result = statvfs()
        try retryingLibc("fstatvfs", path) { fstatvfs(folder.number, &result) }
        let (bytes, overflow) = UInt64(result.f_bavail).multipliedReportingOverflow(
            by: UInt64(result.f_frsize))
        return overflow ? .max : Int64(clamping: bytes)
    }
}
