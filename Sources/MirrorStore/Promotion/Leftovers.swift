internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// Files of mirror's own that a run left and that no intent is about: hidden ones, and parts.
///
/// What an unfinished set is made of is promised to the next run, and stays.
struct Leftovers {
    let tree: RecoveryTree
    let index: Index
    let now: Instant

    /// Removes hidden files that were made before their intent was written.
    func removeHiddenFiles(besides promised: Set<[UInt8]>) throws {
        let paths = try index.read { (database: inout Database) throws(IndexError) in
            try HiddenFileRows.paths(in: &database)
        }
        let left = paths.filter { !promised.contains(Array($0.utf8)) }
        for path in left { if let entry = try tree.existing(path) { try tree.remove(entry) } }
        guard !left.isEmpty else { return }
        try index.write { (batch: inout Database) throws(IndexError) in
            for path in left { try HiddenFileRows.forget(path, in: &batch) }
        }
    }

    /// Removes parts without rows, and rows without parts; returns the number of these rows.
    func settleParts(besides promised: Set<[UInt8]>) throws -> Int {
        let rows = try index.read { (database: inout Database) throws(IndexError) in
            try PartRows.names(in: &database)
        }
        var names: Set<[UInt8]> = []
        if let folder = try tree.folder(Area.tmp.rawValue) {
            let known = Set(rows.map { Array($0.utf8) })
            for name in try folder.names(path: "tmp") where PartName.isPart(name) {
                let path = TreePartStore.path(of: name)
                if known.contains(Array(name.utf8)) {
                    names.insert(Array(name.utf8))
                } else if !promised.contains(Array(path.utf8)) {
                    try tree.remove(DirectoryEntry(folder: folder, name: name, path: path))
                    // What is left of a set's folder; other people's files in it stay.
                    OldFolder.ofNames(tree.root, now).removeIfEmpty(path)
                }
            }
        }
        let lost = rows.filter { !names.contains(Array($0.utf8)) }
        guard !lost.isEmpty else { return 0 }
        try index.write { (batch: inout Database) throws(IndexError) in
            for name in lost { try PartRows.remove(named: name, in: &batch) }
        }
        return lost.count
    }
}
