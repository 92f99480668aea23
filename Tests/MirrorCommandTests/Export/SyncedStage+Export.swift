import MirrorTestSupport

extension SyncedStage {
    /// Exports, beside the root when `output` is given.
    func export(
        _ format: String, to output: String? = nil, _ more: [String] = []
    ) async throws -> Command.Result {
        let place = output.map { ["-o", ground.folder.full($0)] } ?? []
        return try await run(["export", "--as", format] + place + more)
    }
}
