/// Lists the conflicts of a root, and compares their files.
///
/// A conflict is a conflict copy beside a target that the index knows, as in `status`. The list
/// changes nothing and takes no lock.
package struct ConflictList: Sendable {
    private let name: Target?
    private let compares: Bool

    /// The most conflicts whose files are compared, so that a list ends soon.
    private static let mostCompared = 50

    /// Selects conflicts.
    ///
    /// - Parameters:
    ///   - name: a target, or one of its conflict copies. `nil` means all conflicts.
    ///   - compares: whether the lines are listed in which texts differ.
    package init(of name: Target? = nil, comparing compares: Bool = false) {
        (self.name, self.compares) = (name, compares)
    }

    /// Lists the conflicts in the order of the copies' paths.
    ///
    /// Throws `MirrorError` with `usage` if the name has no conflict, or if the index cannot be
    /// read.
    package func read(in session: MirrorSession) async throws -> ConflictReport {
        try await session.engine.scan { [root = session.root] view, isCancelled in
            var report = ConflictReport(root: root)
            var copies = try ConflictScan(beside: name, in: view.index).copies(in: view)
            if let name { copies = try ResolveReport.choose(name, among: copies).copies }
            guard let tree = view.root else { return report }
            var cursor = StatCursor(tree)
            for (number, copy) in copies.enumerated() {
                if isCancelled() { throw MirrorError(wrapping: CancellationError()) }
                // A copy may have been resolved since its name was read.
                guard case .file(let stamp) = try cursor.look(at: copy.copy) else { continue }
                var conflict = ConflictReport.Conflict(
                    target: copy.target, copy: .init(path: copy.copy, stamp))
                if case .file(let there) = try cursor.look(at: copy.target) {
                    conflict.there = .init(path: copy.target, there)
                    if compares, number < ConflictList.mostCompared {
                        conflict.difference = difference(copy, in: tree)
                    }
                }
                report.conflicts.append(conflict)
            }
            return report
        }
    }

    private func difference(_ copy: ConflictCopy, in root: RootDirectory) -> LineDifference {
        guard let theirs = bytes(of: copy.target, in: root),
            let mine = bytes(of: copy.copy, in: root)
        else { return .unread }
        return LineDifference(from: theirs, to: mine)
    }

    /// Reads the bytes of a file, or the first of them if there are too many to compare.
    private func bytes(of target: Target, in root: RootDirectory) -> [UInt8]? {
        let path = target.path
        guard let file = try? root.openFile(path), (try? file.status(path: path))?.isFile == true
        else { return nil }
        return try? file.bytes(at: 0, count: LineDifference.mostBytes + 1, path: path)
    }
}

/// The conflicts of a root, as `mirror resolve` lists them.
package struct ConflictReport: Sendable {
    /// The root's path.
    package var root: String
    /// The conflicts, in the order of the copies' paths.
    package var conflicts: [Conflict] = []

    /// A conflict copy, and the file at its target.
    package struct Conflict: Sendable {
        /// The target.
        package let target: Target
        /// The file that had to make room.
        package let copy: File
        /// The file at the target. `nil` means that no file is there.
        package var there: File?
        /// How the texts differ. `nil` means that they were not compared.
        package var difference: LineDifference?
    }

    /// A file of a conflict.
    package struct File: Sendable {
        /// The path below the root.
        package let path: Target
        /// The size in bytes.
        package let size: Int64
        /// When the bytes were last changed.
        package let modified: Instant

        init(path: Target, _ stamp: FileStamp) {
            self.path = path
            size = stamp.size
            modified = Instant(milliseconds: stamp.modified / 1_000_000)
        }
    }

    /// Writes the report as one JSON document.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("v", 1)
            json.member("root", root)
            json.objects("conflicts", conflicts) { conflict, json in
                json.member("target", conflict.target.path)
                json.member("copy", conflict.copy.path.path)
                json.member("size", conflict.copy.size)
                json.member("modified", conflict.copy.modified)
                json.member("targetSize", conflict.there?.size)
                json.member("targetModified", conflict.there?.modified)
            }
        }
    }
}
