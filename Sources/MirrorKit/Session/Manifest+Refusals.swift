public import MirrorModel

extension Manifest {
    /// Refuses resources that cannot be one tree; for a manifest that was made in code, a decoder
    /// has done it for the others. Throws `MirrorError` with `manifestInvalid`.
    func refuseFlaws() throws(MirrorError) {
        guard whereabouts == .code, let flaw = flaws().first else { return }
        throw MirrorError(.manifestInvalid, "\(owner): \(sentence(on: flaw)).")
    }

    /// Refuses a manifest in which a resource declares no digest that proves its bytes.
    ///
    /// Throws `MirrorError` with `manifestInvalid`, naming up to three of them.
    public func refuseUnpinned() throws(MirrorError) {
        var names: [String] = []
        var count = 0
        for position in resources.indices where resources[position].pin == nil {
            count += 1
            if names.count < 3 { names.append(resources.target(at: position).path) }
        }
        guard count > 0 else { return }
        let more = count > names.count ? " and \(count - names.count) more" : ""
        throw MirrorError(
            .manifestInvalid,
            "\(owner): --require-pinned: no sha256, sha512 or integrity for \(names.joined(separator: ", "))\(more). Add one, or leave the option out."
        )
    }
}
