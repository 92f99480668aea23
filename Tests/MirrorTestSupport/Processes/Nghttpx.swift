import Glibc

/// The nghttpx of the system: TLS and HTTP/2 before a server of HTTP/1.1, whatever that does.
public final class Nghttpx: Sendable {
    /// Where Debian puts it.
    public static let program = "/usr/sbin/nghttpx"
    /// The certificate that it shows, to be trusted: a PEM file's path.
    public let certificate: String
    /// Where it is, without a slash at the end.
    public let url: String
    private let place: Folder
    private let command: Command

    /// Starts it before the server at a port of the loopback address, and waits until it accepts
    /// connections.
    public init(before backend: UInt16) throws {
        place = try Folder.temporary(in: Folder.memory)
        certificate = place.full("certificate.pem")
        guard let port = LoopbackPort.free() else {
            throw SystemFailure("bind", "127.0.0.1", errno: errno)
        }
        url = "https://127.0.0.1:\(port)"
        try place.makeCertificate()
        command = try Command(
            Nghttpx.program,
            [
                "--frontend=127.0.0.1,\(port)", "--backend=127.0.0.1,\(backend)", "--workers=1",
                "--single-process", "--conf=/dev/null", "--errorlog-file=/dev/null",
                "--accesslog-file=/dev/null", place.full("key.pem"), certificate,
            ])
        guard LoopbackPort.waitForServer(on: port) else {
            command.signal(SIGKILL)
            throw SystemFailure("nghttpx", command.wait().errors, errno: ECONNREFUSED)
        }
    }

    /// Ends it and deletes its folder.
    public func stop() {
        command.signal(SIGKILL)
        _ = command.wait(seconds: 10)
        place.remove()
    }
}
