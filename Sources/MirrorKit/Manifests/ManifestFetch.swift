internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem
internal import MirrorTransfer

/// One conditional request for a manifest, outside any root: its bytes stay in memory.
struct ManifestFetch: Sendable {
    let url: SourceURL
    let key: SourceKey
    let configuration: Configuration

    /// A substitute for a target, because a manifest has none.
    static let target = "tmp/manifest"

    /// The greatest size of a manifest in bytes; a million resources take 160 MiB.
    static let greatestSize: Int64 = 1 << 30

    /// The result of the request.
    enum Result: Sendable {
        case received(ReceivedBody, ManifestText)
        case notModified(Answer)
        case failed(MirrorError)
    }

    /// Passes on the result of the only job.
    private struct End: TransferObserver {
        let continuation: AsyncStream<TransferResult>.Continuation

        func tell(_ job: TransferJob, _ event: TransferEvent) {
            if case .ended(let result) = event { continuation.yield(result) }
        }
    }

    /// Sends the request, with the validators of the existing copy.
    func run(ifChangedSince local: LocalVersion?) async throws -> Result {
        let store = ScratchPartStore()
        let job = TransferJob(
            id: 1, target: try Target(ManifestFetch.target),
            sources: [PreparedSource(url: url, key: key, headers: [])], postBody: nil,
            expectation: Expectation(), local: local, part: nil, priority: 0)
        var configuration = configuration
        configuration.transfer.sizeLimit = min(
            configuration.transfer.sizeLimit ?? .max, ManifestFetch.greatestSize)
        let (results, continuation) = AsyncStream.makeStream(of: TransferResult.self)
        let loop = try TransferLoop(
            configuration: configuration, parts: store, observer: End(continuation: continuation))
        loop.submit([job])
        var ended: TransferResult?
        for await result in results {
            ended = result
            break
        }
        try await Offload.run { loop.stop() }
        guard let result = ended else {
            throw MirrorError(.cancelled, "Interrupted while a manifest was fetched.")
        }
        switch result {
        case .received(let body): return .received(body, try store.text(of: body.content))
        case .notModified(let answer, _): return .notModified(answer)
        case .failed(let error, _): return .failed(error)
        case .cancelled: throw MirrorError(.cancelled, "Interrupted while a manifest was fetched.")
        }
    }
}
