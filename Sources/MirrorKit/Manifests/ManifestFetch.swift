internal import CLinux
internal import Glibc
internal import Synchronization

/// Requests manifests and the documents of lists, outside any root: the bytes stay in memory.
///
/// Requests to one host share its connections.
final class ManifestFetch: Sendable {
    /// A substitute for a target, because a manifest has none.
    static let target = "tmp/manifest"

    /// The greatest size of a manifest in bytes; a million resources take 160 MiB.
    static let greatestSize: Int64 = 1 << 30

    /// The result of a request.
    enum Result: Sendable {
        case received(ReceivedBody, ManifestText)
        case notModified(Answer)
        case failed(MirrorError)
    }

    private typealias Waiter = AsyncStream<TransferResult>.Continuation

    /// The requests under way, by the ids of their downloads.
    private final class Waiters: TransferObserver, Sendable {
        let all = Mutex<(last: Int, waiters: [Int: Waiter])>((0, [:]))

        func tell(_ download: Download, _ event: TransferEvent) {
            guard case .ended(let result) = event else { return }
            all.withLock { $0.waiters.removeValue(forKey: download.id) }?.yield(result)
        }
    }

    private let waiters = Waiters()
    private let store = ScratchPartStore()
    private let loop: TransferLoop
    private let configuration: Configuration
    private let substitutes: Substitutes

    init(_ configuration: Configuration) throws {
        self.configuration = configuration
        substitutes = try configuration.substitutes()
        var configuration = configuration
        configuration.transfer.maxSize = min(
            configuration.transfer.maxSize ?? .max, ManifestFetch.greatestSize)
        loop = try TransferLoop(configuration: configuration, parts: store, observer: waiters)
    }

    /// Runs a closure with a fetch, and then closes the connections of the fetch.
    static func using<Value: Sendable>(
        _ configuration: Configuration,
        _ body: (ManifestFetch) async throws -> Value
    ) async throws -> Value {
        let fetch = try ManifestFetch(configuration)
        let result: Swift.Result<Value, any Error>
        do { result = .success(try await body(fetch)) } catch { result = .failure(error) }
        try await Offload.run { fetch.loop.stop() }
        return try result.get()
    }

    /// Makes a request, with the validators of the existing copy.
    ///
    /// - Parameters:
    ///   - accept: the media types to ask for. `nil` lets the server choose.
    ///   - local: the version of the copy.
    func get(
        _ url: SourceURL, key: SourceKey, accept: String? = nil,
        ifChangedSince local: LocalVersion? = nil
    ) async throws -> Result {
        let (results, waiter) = AsyncStream.makeStream(of: TransferResult.self)
        let id = waiters.all.withLock { all in
            all.last += 1
            all.waiters[all.last] = waiter
            return all.last
        }
        let headers = accept.map { [(name: "Accept", value: $0)] } ?? []
        let sources = try sources(of: url, key: key, headers: headers)
        let download = Download(
            id: id, target: try Target("\(ManifestFetch.target)\(id == 1 ? "" : "-\(id)")"),
            sources: sources, postBody: nil,
            expectation: Expectation(), local: local, part: nil, priority: 0)
        loop.perform { $0.submit(download) }
        var ended: TransferResult?
        for await result in results {
            ended = result
            break
        }
        guard let result = ended else { throw ManifestFetch.interrupted }
        switch result {
        case .received(let body): return .received(body, try store.text(of: body.content))
        case .notModified(let answer, _): return .notModified(answer)
        case .failed(let error, _): return .failed(error)
        case .leftOut(let reason, _):
            return .failed(MirrorError(leftOut: download.target, because: reason))
        case .cancelled: throw ManifestFetch.interrupted
        }
    }

    /// The source of a document, behind the places at which rewrites ask for it first.
    ///
    /// An S3 URL that ends in a slash is the list of the objects below it.
    private func sources(
        of url: SourceURL, key: SourceKey, headers: [(name: String, value: String)]
    ) throws(MirrorError) -> [PreparedSource] {
        if url.scheme == .s3 {
            let signer = try S3Signer(configuration)
            let address = signer.place.document(url)
            return [PreparedSource(url: address, key: key, headers: headers, signer: signer)]
        }
        return substitutes.sources(of: url) { _ in headers }
    }

    private static var interrupted: MirrorError {
        MirrorError(.cancelled, "Interrupted while a manifest was fetched.")
    }

    /// The message of a failed request without its target, which the user did not name.
    static func reason(_ error: MirrorError) -> String {
        guard error.message.hasPrefix(target), let (_, reason) = error.message.halves(atFirst: ":")
        else { return error.message }
        return String(reason.drop { $0 == " " })
    }

    /// The URL that answered a request.
    ///
    /// If both have one origin, the result has the user name and the password of the requested URL.
    /// After a redirect, the result has no query.
    func place(of answer: Answer, asked url: SourceURL) -> SourceURL {
        // The address at which an endpoint has an object is no name to remember.
        if url.scheme == .s3 { return url }
        // Relative URLs belong to the original place, also after a redirect within the cache.
        if let original = substitutes.original(of: answer.source, asked: url) { return original }
        guard answer.source != url.withoutSecrets, let found = try? SourceURL(answer.source) else {
            return url
        }
        guard found.origin == url.origin else { return found }
        return (try? SourceURL("/." + found.path, relativeTo: url)) ?? found
    }

    /// The URL of a list's next page. Returns nil if there is none.
    ///
    /// Throws `MirrorError` with `manifestUnreadable` if the server names a page that must not be
    /// requested.
    static func next(
        after answer: Answer, at url: SourceURL, of label: String
    ) throws(MirrorError) -> SourceURL? {
        guard let reference = answer.nextPage else { return nil }
        var reason: String
        do throws(SourceURLError) {
            let next = try SourceURL(reference, relativeTo: url)
            if next.scheme == .https || next.scheme == .http && url.scheme == .http { return next }
            reason = "\(next) is not asked for by a list that came over \(url.scheme.rawValue)"
        } catch { reason = error.description }
        throw MirrorError(
            .manifestUnreadable,
            "\(label.printable): the server's next page cannot be asked for: \(reason).")
    }
}

/// Parts without a root: memory files without a name (memfd_create(2)), gone when they are closed.
final class ScratchPartStore: PartStore {
    private let files = Mutex<[String: PartFile]>([:])

    func create(_ record: PartRecord) throws(MirrorError) -> PartFile {
        let number: Int32
        do throws(Errno) {
            number = try retrying("memfd_create", record.name) { linux_memfd("mirror-manifest") }
        } catch { throw MirrorError(error) }
        let file = PartFile(name: record.name, descriptor: number)
        files.withLock { $0[record.name] = file }
        return file
    }

    func open(_ record: PartRecord) throws(MirrorError) -> PartFile? {
        files.withLock { $0[record.name] }
    }

    func update(_ record: PartRecord) throws(MirrorError) {}

    func log(_ milestone: Milestone, from start: Int64, part name: String) throws(MirrorError) {}

    func discard(part name: String) throws(MirrorError) {
        files.withLock { $0[name] = nil }
    }

    /// The bytes of a received body.
    func text(of content: Promotion.Content) throws(MirrorError) -> ManifestText {
        switch content {
        case .memory(let bytes): return .memory(bytes)
        case .part(let name, _):
            if let file = files.withLock({ $0[name] }) { return .file(file) }
        case .copy, .copyOfPart, .move: break
        }
        throw MirrorError(.internalError, "A manifest was received, and its bytes are gone.")
    }
}

/// The bytes of a manifest.
enum ManifestText: Sendable {
    case memory([UInt8])
    /// A part that was received over the network.
    case file(PartFile)
    /// A file of this machine.
    case open(Descriptor)

    /// Decodes the bytes. Throws `ManifestError`, or `MirrorError`.
    func decode(
        label: String, origin: ManifestOrigin, hint: ListHint
    ) throws -> DecodedManifest {
        let descriptor: Int32
        switch self {
        case .memory(let bytes):
            return try ManifestReader.read(bytes, label: label, origin: origin, hint: hint)
        case .file(let file): descriptor = file.descriptor
        case .open(let file): descriptor = file.number
        }
        lseek(descriptor, 0, SEEK_SET)
        return try ManifestReader.read(
            descriptor: descriptor, label: label, origin: origin, hint: hint)
    }
}
