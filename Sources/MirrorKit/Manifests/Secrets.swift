internal import Glibc
internal import MirrorManifests
internal import MirrorSystem

/// The values for `${NAME}` in headers and bodies, and the origins that may get them.
public struct Secrets: Sendable {
    /// Which names are granted, and to which origins.
    public var grants: [Grant] = []
    /// Values by name.
    public var environment: [String: String] = [:]
    /// A folder with one file for each name, read if the environment has no value.
    public var credentialsFolder: String?

    /// Grants no value to any origin.
    public init() {}

    /// Takes grants, and the values of this process for them.
    ///
    /// The values come from the environment, and from `$CREDENTIALS_DIRECTORY` as systemd sets it
    /// (systemd.exec(5)).
    public static func ofThisProcess(grants: [Grant]) -> Secrets {
        var secrets = Secrets()
        secrets.grants = grants
        for grant in grants {
            if let value = getenv(grant.name) {
                secrets.environment[grant.name] = String(cString: value)
            }
        }
        secrets.credentialsFolder = getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) }
        return secrets
    }

    /// The text of a credential's file, up to 64 KiB; nil if there is none.
    func credential(named name: String) -> String? {
        guard let folder = credentialsFolder, !folder.isEmpty else { return nil }
        // A pipe would be waited for; it cannot be read at a position.
        let number = open(folder + "/" + name, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let file = Descriptor(owning: number)
        guard let bytes = try? file.bytes(at: 0, count: 64 << 10, path: name) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
