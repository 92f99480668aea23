/// The free space of one file system under a root.
struct DiskVolume: Sendable, Hashable {
    /// A folder on it, as an absolute path.
    let place: String
    /// The areas that lie on it.
    let areas: Set<Area>
    /// Bytes that may still be written there.
    var available: Int64
    /// Bytes that must stay free.
    let least: Int64

    /// Returns what is missing for a file. Returns nil if its bytes fit.
    ///
    /// A file of unknown size does not fit if less is free than must stay free.
    func shortage(of bytes: Int64?, forFileOf size: Int64?) -> SpaceShortage? {
        let left = available.addingSaturated(-least)
        let fits = bytes.map { $0 == 0 || $0 <= left } ?? (left >= 0)
        if fits { return nil }
        return SpaceShortage(
            size: size, needed: bytes, available: available, least: least, place: place)
    }
}

/// Why a file does not fit on the disk. All numbers are bytes.
package struct SpaceShortage: Sendable, Hashable {
    /// The size of the whole file, where known.
    let size: Int64?
    /// The bytes of it that are still to be written, where known.
    let needed: Int64?
    /// The bytes that may be written to its file system.
    let available: Int64
    /// The bytes that must stay free there.
    let least: Int64
    /// The file system, named by a folder on it.
    let place: String

    /// The sentence that says why, without its full stop.
    package var because: String {
        let needed = needed.map { "\(ByteCount($0))" } ?? "a file of unknown size"
        let reserve = least > 0 ? ", and \(ByteCount(least)) stay free" : ""
        return "no room for \(needed): \(place) has \(ByteCount(max(0, available))) left\(reserve)"
    }

    /// What helps.
    package var remedy: Remedy { Remedy(.freeSpace, least > 0 ? "\(least)" : "") }
}

/// The bytes that a step writes, and where.
struct SpaceNeed: Sendable, Hashable {
    /// The size of the whole file, where known.
    let size: Int64?
    /// The bytes that are still to be written, where known.
    let bytes: Int64?
    let area: Area
    /// Whether the bytes come as a part, which lies in tmp first.
    let isFetched: Bool
}

/// The file systems under a root, and what is left on each as files are fitted in.
struct DiskSpace: Sendable {
    private(set) var volumes: [DiskVolume]

    init(_ volumes: [DiskVolume]) { self.volumes = volumes }

    /// Reserves the bytes of a file. Returns what is missing, and reserves nothing, if they do not
    /// fit.
    mutating func reserve(_ need: SpaceNeed) -> SpaceShortage? {
        guard let own = volumes.firstIndex(where: { $0.areas.contains(need.area) }) else {
            return nil
        }
        if let shortage = volumes[own].shortage(of: need.bytes, forFileOf: need.size) {
            return shortage
        }
        // A part lies in tmp. If the file's area is on another file system, the file needs space in
        // both, and in tmp for a while only.
        if need.isFetched, let tmp = volumes.first(where: { $0.areas.contains(.tmp) }),
            tmp.place != volumes[own].place,
            let shortage = tmp.shortage(of: need.bytes, forFileOf: need.size)
        {
            return shortage
        }
        volumes[own].available -= need.bytes ?? 0
        return nil
    }

    /// Returns what an area lacks on a full disk for a file of unknown size.
    func lack(ofUnknownSizeIn area: Area) -> SpaceShortage? {
        volumes.first { $0.areas.contains(area) }.map {
            SpaceShortage(
                size: nil, needed: nil, available: $0.available, least: $0.least, place: $0.place)
        }
    }

    /// Adds bytes that an eviction frees.
    mutating func free(_ bytes: Int64, in area: Area) {
        guard let own = volumes.firstIndex(where: { $0.areas.contains(area) }) else { return }
        volumes[own].available = volumes[own].available.addingSaturated(bytes)
    }

    /// Takes away bytes of parts that will come, in tmp and in the area of their files.
    mutating func take(_ bytes: Int64, in area: Area) {
        for at in volumes.indices
        where volumes[at].areas.contains(area) || volumes[at].areas.contains(.tmp) {
            volumes[at].available = volumes[at].available.addingSaturated(-bytes)
        }
    }
}

extension Plan {
    /// Returns the bytes that a step writes. Returns nil for a step that writes none.
    func spaceNeed(at position: Int) -> SpaceNeed? {
        if let fetch = steps.plainFetch(at: position) {
            let area = steps.area(ofResource: fetch.resource, in: fetch.manifest)
            return SpaceNeed(size: fetch.size, bytes: fetch.size, area: area, isFetched: true)
        }
        let step = steps[position]
        switch step.means {
        case .transfer:
            return SpaceNeed(
                size: step.size, bytes: step.expectedBytes, area: step.target.area, isFetched: true)
        case .copy:
            return SpaceNeed(
                size: step.size, bytes: step.size ?? 0, area: step.target.area, isFetched: false)
        case .nothing, .adoption, .move, .removal: return nil
        }
    }

    /// Returns the disk with what the plan's evictions free.
    func afterEvictions(_ disk: DiskSpace) -> DiskSpace {
        if evictableFiles == 0 { return disk }
        var disk = disk
        for position in steps.notable where steps.isEviction(at: position) {
            disk.free(steps[position].size ?? 0, in: steps.target(at: position).area)
        }
        return disk
    }

    /// Returns what is missing for each file that does not fit on the disk.
    ///
    /// Files are fitted in by their priority, then in the order of the plan. What the plan's
    /// evictions free counts as room.
    ///
    /// - Parameter isLeftForLater: whether a step fetches nothing now, so that it needs no room.
    func shortages(
        on disk: DiskSpace, except isLeftForLater: (Int) -> Bool = { _ in false }
    ) -> [Int: SpaceShortage] {
        let disk = afterEvictions(disk)
        if fits(disk, except: isLeftForLater) { return [:] }
        var writing: [(position: Int, priority: Int32, need: SpaceNeed)] = []
        for position in steps.notable {
            guard let need = spaceNeed(at: position), !isLeftForLater(position) else { continue }
            writing.append((position, priority(at: position), need))
        }
        writing.sort { left, right in
            left.priority != right.priority
                ? left.priority > right.priority : left.position < right.position
        }
        var left = disk
        var shortages: [Int: SpaceShortage] = [:]
        for file in writing {
            if let shortage = left.reserve(file.need) { shortages[file.position] = shortage }
        }
        return shortages
    }

    /// Whether all bytes that the plan writes fit.
    func fits(_ disk: DiskSpace, except isLeftForLater: (Int) -> Bool) -> Bool {
        var disk = disk
        return steps.notable.allSatisfy { position in
            guard let need = spaceNeed(at: position), !isLeftForLater(position) else { return true }
            return disk.reserve(need) == nil
        }
    }

    private func priority(at position: Int) -> Int32 {
        guard let (manifest, resource) = steps.resource(at: position) else { return 0 }
        return manifests[manifest].resources.turn(at: resource).priority
    }

    /// Gives transfers of unknown size the sizes that servers told earlier runs.
    mutating func learn(_ sizes: [(target: Target, size: Int64)]) {
        for (target, size) in sizes {
            guard let position = steps.position(of: target) else { continue }
            var step = steps[position]
            guard step.size == nil, case .transfer = step.means else { continue }
            step.size = size
            steps.replace(at: position, with: step)
        }
    }
}
