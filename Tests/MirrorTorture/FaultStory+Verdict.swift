internal import MirrorTestSupport

/// What is right after a run in which something failed.
extension FaultStory {
    /// What is wrong with the tree: bytes of no version, a lost edit, a stranger.
    func wrongFiles(_ scene: Scene) -> [String] {
        var wrong: [String] = []
        let (wanted, before) = (telling(scene).wanted, telling(scene).before)
        let edit = before[FaultStory.edited]
        var hasEdit = edit == nil
        for (name, bytes) in ground.tree() {
            if bytes == edit { hasEdit = true }
            let isEdit = FaultStory.isConflict(name) && bytes == edit
            // What a promotion left under a name of its own is settled by the next run.
            if isEdit || FaultStory.isHidden(name) { continue }
            if wanted[name] == nil, before[name] == nil {
                wrong.append("\(name): a stranger of \(bytes.count) bytes")
            } else if bytes != wanted[name], bytes != before[name] {
                wrong.append("\(name): \(bytes.count) bytes of no version")
            }
        }
        for name in before.keys where wanted[name] != nil && name != FaultStory.edited {
            if ground.root.size(name) == nil { wrong.append("\(name) is gone") }
        }
        if !hasEdit { wrong.append("the edit of \(FaultStory.edited) is lost") }
        return wrong
    }

    /// What is wrong with a tree that should be as the manifest wants it.
    func unfinished(_ scene: Scene) -> [String] {
        var wrong: [String] = []
        var tree = ground.tree()
        for (name, bytes) in telling(scene).wanted where tree.removeValue(forKey: name) != bytes {
            wrong.append("\(name) is not the wanted version")
        }
        let conflicts = tree.keys.filter { FaultStory.isConflict($0) }
        if scene == .change, conflicts.isEmpty { wrong.append("the edit has no conflict name") }
        for name in tree.keys where !conflicts.contains(name) { wrong.append("\(name) is left") }
        return wrong
    }

    /// What is wrong with what a run said of itself.
    func untrue(_ result: Command.Result) -> [String] {
        var wrong: [String] = []
        let events = result.events
        for event in events where event["event"] == .string("done") {
            guard let path = event["path"]?.word, let digest = event["sha256"]?.word,
                let outcome = event["outcome"]?.word,
                !["edited", "stale", "skipped", "noRoom"].contains(outcome)
            else { continue }
            if ground.root.read(path).map(Checksum.sha256) != digest {
                wrong.append("\(path) is reported \(outcome), and has other bytes")
            }
        }
        guard case .exited(let code) = result.ending else { return ["\(result.ending)"] }
        if code == 0 { return wrong }
        let words = words(result)
        if code == 70 { wrong.append("exit 70: \(words)") }
        if words.isEmpty { wrong.append("exit \(code) without a word") }
        if words.contains("internal-error") { wrong.append("exit \(code): \(words)") }
        return wrong
    }

    /// What a run says of its errors, and of files that it could not ask about, events first.
    func words(_ result: Command.Result) -> String {
        let failed = result.events.filter { $0["event"] == .string("failed") }
        let stale = result.events.filter { $0["outcome"] == .string("stale") }
        var said = failed.prefix(3).map {
            "\($0["code"]?.word ?? ""): \($0["message"]?.word ?? "")"
        }
        said += stale.prefix(3).map { "\($0["path"]?.word ?? ""): \($0["because"]?.word ?? "")" }
        if let error = result.summary?["error"], error != .null { said.append(error.word) }
        if !result.errors.isEmpty { said.append(result.errors) }
        return said.joined(separator: " / ")
    }

    /// What is said of the orphans of the scene `change` while they are there.
    static let orphansLeft = ["Caches/orphan is left", "Documents/gone/orphan is left"]

    /// The run without a fault that follows: it ends well, and the tree is right but for what is spared.
    func wrongAfterRerun(_ scene: Scene, sparing spared: [String] = []) throws -> [String] {
        let result = try sync(scene).wait()
        guard result.ending == .exited(0) else {
            return ["the rerun: \(result.ending) \(words(result))"]
        }
        let parts = ground.parts().isEmpty ? [] : ["parts are left: \(ground.parts())"]
        let left = unfinished(scene).filter { !spared.contains($0) }
        let wrong = untrue(result) + left + parts
        return wrong.isEmpty ? [] : ["after the rerun (\(words(result)))"] + wrong
    }

    private static func isConflict(_ name: String) -> Bool {
        name.hasPrefix("Documents/edited.mirror-conflict-")
    }

    private static func isHidden(_ name: String) -> Bool {
        name.split(separator: "/").last?.hasPrefix(".") == true && name.contains(".mirror-")
    }
}
