internal import CCurl
internal import CLinux
internal import Glibc

/// Why a file was not put into a store: the middle of a sentence.
struct PushError: Error {
    let cause: String

    init(_ cause: String) { self.cause = cause }

    /// The file is not what it was when the run fetched it.
    static let changed = PushError("it is not the file any more that was fetched")
}

/// A libcurl handle that sends one request at a time and keeps its connection.
///
/// Only one thread uses it at a time: `StorePush` gives it out and takes it back.
final class PushHandle: @unchecked Sendable {
    private let easy = EasyHandle()

    /// What libcurl's callbacks need of a request.
    fileprivate final class Body {
        let file: Descriptor?
        let size: Int64
        let sha256: Digest?
        let isCancelled: () -> Bool
        var offset: Int64 = 0
        var hasher: ByteHasher? = ByteHasher(.sha256)
        var isOther = false
        /// Whether the store's address is not public, and so no connection was made.
        var refusedAddress = false

        init(file: Descriptor?, size: Int64, sha256: Digest?, isCancelled: @escaping () -> Bool) {
            (self.file, self.size, self.sha256) = (file, size, sha256)
            self.isCancelled = isCancelled
        }

        /// Fills a buffer. Returns nil to end the request: the file cannot be read, or has changed.
        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
            guard let file else { return 0 }
            let rest = UnsafeMutableRawBufferPointer(
                rebasing: buffer[..<min(buffer.count, Int(clamping: size - offset))])
            guard let count = try? file.read(into: rest, at: offset, path: "") else { return nil }
            hasher?.update(UnsafeRawBufferPointer(rebasing: rest[..<count]))
            offset += Int64(count)
            guard count == rest.count else {
                isOther = true
                return nil
            }
            // The server must not get the last bytes of a file that is not what it was.
            if offset == size, let digest = hasher.take()?.finish(), digest != sha256 {
                isOther = true
                return nil
            }
            return count
        }
    }

    /// Asks for the head of a URL. Returns the status.
    func ask(
        _ url: SourceURL, _ settings: TransferSettings, _ signer: S3Signer?,
        isCancelled: @escaping () -> Bool
    ) throws -> Int {
        settings.preparePush(easy, to: url, size: nil, sha256: nil, signer: signer)
        return try perform(
            Body(file: nil, size: 0, sha256: nil, isCancelled: isCancelled), settings)
    }

    /// Sends a file. Returns the status.
    func put(
        _ file: Descriptor, size: Int64, sha256: Digest, at url: SourceURL,
        _ settings: TransferSettings, _ signer: S3Signer?, rate: Int64?,
        isCancelled: @escaping () -> Bool
    ) throws -> Int {
        settings.preparePush(easy, to: url, size: size, sha256: sha256, signer: signer)
        if let rate {
            easy.set(CURLOPT_MAX_SEND_SPEED_LARGE, offset: rate)
            easy.set(CURLOPT_LOW_SPEED_LIMIT, Int(min(1024, rate / 2)))
        }
        return try perform(
            Body(file: file, size: size, sha256: sha256, isCancelled: isCancelled), settings)
    }

    private func perform(_ body: Body, _ settings: TransferSettings) throws -> Int {
        let context = Unmanaged.passUnretained(body).toOpaque()
        easy.set(CURLOPT_READDATA, pointer: context)
        easy.set(CURLOPT_READFUNCTION, callback: pushRead)
        easy.set(CURLOPT_WRITEFUNCTION, callback: pushIgnore)
        easy.set(CURLOPT_XFERINFODATA, pointer: context)
        _ = ccurl_set_progress_callback(easy.handle, pushProgress)
        easy.set(CURLOPT_NOPROGRESS, 0)
        if settings.publicAddressesOnly {
            easy.set(socketCallback: pushSocket)
            easy.set(CURLOPT_OPENSOCKETDATA, pointer: context)
        }
        let code = withExtendedLifetime(body) { curl_easy_perform(easy.handle) }
        if code == CURLE_OK { return ccurl_get_long(easy.handle, CURLINFO_RESPONSE_CODE) }
        if body.isOther { throw PushError.changed }
        if body.refusedAddress { throw PushError("the store's address is not public") }
        let status = ccurl_get_long(easy.handle, CURLINFO_RESPONSE_CODE)
        // A server may refuse a body and hang up before it has all of it.
        if status >= 400 { return status }
        let detail = easy.errorDetail
        throw PushError(detail.isEmpty ? easy.words(for: code) : detail)
    }
}

private func pushRead(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let context else { return Int(CURL_READFUNC_ABORT) }
    let body = Unmanaged<PushHandle.Body>.fromOpaque(context).takeUnretainedValue()
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return body.read(into: buffer) ?? Int(CURL_READFUNC_ABORT)
}

private func pushIgnore(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int { size * count }

private func pushProgress(
    _ context: UnsafeMutableRawPointer?, _ total: Int, _ now: Int, _ sendTotal: Int, _ sent: Int
) -> Int32 {
    guard let context else { return 0 }
    let body = Unmanaged<PushHandle.Body>.fromOpaque(context).takeUnretainedValue()
    return body.isCancelled() ? 1 : 0
}

private func pushSocket(
    _ context: UnsafeMutableRawPointer?, _: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let address, let context else { return -1 }
    if !isPublic(address) {
        Unmanaged<PushHandle.Body>.fromOpaque(context).takeUnretainedValue().refusedAddress = true
        return -1
    }
    return socket(
        address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
        address.pointee.protocol)
}
