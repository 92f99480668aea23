internal import Glibc

extension Folder {
    /// Makes `certificate.pem` and `key.pem`, with which a server can speak TLS for two days.
    ///
    /// - Parameter subject: what the certificate is for (subjectAltName).
    package func makeCertificate(for subject: String = "IP:127.0.0.1") throws {
        let made = try Command.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                "subjectAltName=\(subject)", "-keyout", full("key.pem"), "-out",
                full("certificate.pem"),
            ])
        guard made.ending == .exited(0) else {
            throw SystemFailure("openssl req", made.errors, errno: EINVAL)
        }
    }
}
