internal import MirrorTestSupport

/// What a tree must hold after a crash, and after the run that follows it.
extension CrashGround {
    /// The files of the tree that are not parts: final names, and hidden ones of a moment.
    private var finalNames: [(name: String, bytes: [UInt8], isHidden: Bool)] {
        ground.tree().map { name, bytes in
            let last = name.split(separator: "/").last ?? ""
            return (name, bytes, last.hasPrefix(".") && last.contains(".mirror-"))
        }
    }

    /// What is wrong with the final names: each holds one whole version, or what somebody put there.
    func flawsAfterCrash() -> [String] {
        var wrong: [String] = []
        let files = finalNames
        for (name, bytes, isHidden) in files where !isHidden {
            let isVersion = versions[name]?.contains(bytes) ?? false
            if !isVersion && !people.contains(bytes) && !spoiled.contains(bytes) {
                wrong.append("\(name) is no version: \(bytes.count) bytes")
            }
        }
        for (name, texts) in beside where !texts.contains(ground.folder.read(name) ?? []) {
            wrong.append("\(name) is neither old nor new")
        }
        // In the moment between an exchange and its conflict name, an edit has the name of a part.
        let all = files.map(\.bytes) + ground.parts().compactMap { ground.root.read($0) }
        for bytes in people where !all.contains(bytes) {
            wrong.append("somebody's \(bytes.count) bytes are lost")
        }
        return wrong
    }

    /// What is wrong once a run has settled everything.
    func flawsInTheEnd() -> [String] {
        var wrong: [String] = []
        let files = ground.tree()
        for name in expected.keys.sorted() where files[name] != expected[name] {
            wrong.append("\(name) is \(files[name].map { "\($0.count) other bytes" } ?? "absent")")
        }
        for (name, bytes) in files where expected[name] == nil {
            // Somebody's file has a conflict name, or is where it was if nothing else is wanted there.
            let mayStay = name.contains(".mirror-conflict-") || versions[name] == nil
            if !mayStay || !people.contains(bytes) {
                wrong.append("\(name) is left over: \(bytes.count) bytes")
            }
        }
        for bytes in people where !files.values.contains(bytes) {
            wrong.append("somebody's \(bytes.count) bytes are lost in the end")
        }
        for (name, texts) in beside where ground.folder.read(name) != texts.last {
            wrong.append("\(name) is not new")
        }
        if !ground.parts().isEmpty { wrong.append("parts are left: \(ground.parts())") }
        return wrong + strangers()
    }

    /// Files in `.mirror/` that a run that ended well does not leave.
    private func strangers() -> [String] {
        let own = ground.root.entries(beneath: ".mirror").map(\.name)
        let rest = own.filter {
            !LastingFiles.has($0) && !$0.hasPrefix(".mirror/index.sqlite.damaged-")
        }
        return rest.isEmpty ? [] : ["in .mirror: \(rest.joined(separator: ", "))"]
    }
}
