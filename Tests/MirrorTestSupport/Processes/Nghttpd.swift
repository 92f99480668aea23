internal import Glibc

/// The nghttpd of the system over a folder of its own: TLS, and no protocol but HTTP/2. It closes a
/// connection on which another one was negotiated.
public final class Nghttpd: Sendable {
    /// Where Debian puts it.
    public static let program = "/usr/sbin/nghttpd"
    /// What it serves.
    public let folder: Folder
    /// The certificate that it shows, to be trusted: a PEM file's path.
    public let certificate: String
    /// Where it is, without a slash at the end.
    public let url: String
    private let place: Folder
    private let command: Command

    /// Starts it and waits until it accepts connections.
    public init() throws {
        place = try Folder.temporary(in: Folder.memory)
        try place.makeFolders(above: "www/.")
        folder = Folder(place.full("www"))
        certificate = place.full("certificate.pem")
        guard let port = LoopbackPort.free() else {
            throw SystemFailure("bind", "127.0.0.1", errno: errno)
        }
        url = "https://127.0.0.1:\(port)"
        try place.makeCertificate()
        command = try Command(
            Nghttpd.program,
            [
                "--address=127.0.0.1", "-d", folder.path, String(port), place.full("key.pem"),
                certificate,
            ])
        guard LoopbackPort.waitForServer(on: port) else {
            command.signal(SIGKILL)
            throw SystemFailure("nghttpd", command.wait().errors, errno: ECONNREFUSED)
        }
    }

    /// Ends it and deletes its folder.
    public func stop() {
        command.signal(SIGTERM)
        _ = command.wait(seconds: 10)
        place.remove()
    }
}
