internal import MirrorModel
internal import MirrorStore

/// Makes the listing of a folder from the rows of the index, a page at a time.
struct TreeListing {
    let root: RootDirectory
    let index: Index

    /// How many rows are read at once.
    private static let batch: Int64 = 512

    /// A page of the folder; nil where no file is beneath it. Areas and the root are always there.
    ///
    /// - Parameter after: the name of the last entry of the page before.
    func page(of path: String, after: String?) throws(MirrorError) -> ServedListing? {
        let prefix = path.isEmpty ? "" : path + "/"
        var listing = ServedListing(path: path)
        var start = prefix
        if let after {
            // A folder and a file sort apart: the folder as if its name ended in a slash.
            start = prefix + after
            if after.utf8.last == UInt8(ascii: "/") {
                start = start.prefix(bytes: start.utf8.count - 1) + "0"
            }
        }
        var isIncluded = after.map { $0.utf8.last == UInt8(ascii: "/") } ?? true
        var scan = StatCursor(root)
        var hasRows = false
        while true {
            let rows = try index.served.files(
                beneath: prefix, from: start, isIncluded: isIncluded, most: TreeListing.batch)
            guard let last = rows.last else { break }
            hasRows = true
            (start, isIncluded) = (last.target.path, false)
            for row in rows {
                let rest = String(row.target.path.utf8.dropFirst(prefix.utf8.count)) ?? ""
                guard let (folder, _) = rest[...].halves(atFirst: "/") else {
                    if let entry = try entry(rest, row, &scan), listing.add(entry) {
                        return listing
                    }
                    continue
                }
                if listing.add(ServedListing.Entry(name: String(folder))) { return listing }
                // All that is in the folder is passed over: "0" is the byte behind the slash.
                (start, isIncluded) = (prefix + folder + "0", true)
                break
            }
        }
        if hasRows || path.isEmpty || Area(rawValue: path) != nil { return listing }
        // The page behind the last entry is one, if the folder is.
        let first = try index.served.files(
            beneath: prefix, from: prefix, isIncluded: false, most: 1)
        return first.isEmpty ? nil : listing
    }

    /// A file that is there, as the index describes it.
    private func entry(
        _ name: String, _ row: ServedFile, _ scan: inout StatCursor
    ) throws(MirrorError) -> ServedListing.Entry? {
        guard case .file(let stamp, _) = try scan.look(at: row.target) else { return nil }
        return ServedListing.Entry(
            name: name,
            file: ServedListing.File(
                size: row.stamp.size,
                modified: Instant(milliseconds: stamp.modified / 1_000_000), sha256: row.sha256))
    }
}
