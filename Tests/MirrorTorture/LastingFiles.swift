/// What mirror leaves in its own folder after a run that ended well.
enum LastingFiles {
    /// Whether a path relative to the root, below `.mirror/`, may be there.
    static func has(_ name: String) -> Bool {
        let files = ["index.sqlite", "lock", "settings.json", "paused.json"]
        let folders = ["manifests", "resolved", "runs"]
        return files.contains { name == ".mirror/" + $0 }
            || folders.contains { name == ".mirror/" + $0 || name.hasPrefix(".mirror/\($0)/") }
    }
}
