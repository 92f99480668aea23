internal import MirrorModel

/// The values for every resource that does not declare its own.
struct ManifestDefaults {
    private(set) var directory = Area.caches.rawValue
    private(set) var refresh: Refresh?
    var headers = HeaderList()
    private(set) var priority: Int32 = 0
    var tags = TagList()

    /// Sets a key of `defaults` that has one value.
    mutating func set(
        _ key: DefaultsKey, _ value: WrittenValue, at place: TextPosition, _ check: ValueCheck
    ) {
        switch key {
        case .directory:
            guard var text = check.text(value, "directory", at: place) else { return }
            while text.utf8.last == UInt8(ascii: "/") { text.removeLast() }
            do throws(TargetFlaw) {
                _ = try Target(text + "/x")
                directory = text
            } catch {
                check.log.error(at: place, "directory \(Quoted(text)): \(ofFolder(error.reason))")
            }
        case .refresh: refresh = check.refresh(value, at: place)
        case .priority: priority = check.priority(value, at: place) ?? 0
        case .headers, .tags: check.wrongKind(value, key.rawValue, at: place)
        }
    }

    /// The flaw with a suggestion for the folder, without the name that stood in for a file's.
    private func ofFolder(_ flaw: TargetFlaw.Reason) -> TargetFlaw.Reason {
        guard case .outsideAreas(let suggestion?) = flaw else { return flaw }
        return .outsideAreas(suggestion: String(suggestion.dropLast(2)))
    }
}
