/// A sync that systemd or cron starts again and again.
package struct Schedule: Sendable, Hashable {
    /// What starts it.
    package enum Manager: String, Sendable, Hashable, CaseIterable {
        /// systemd, for this user.
        case user
        /// systemd, for the machine.
        case system
        /// cron, in this user's crontab.
        case cron
    }

    /// Its name, which is also that of the units: `mirror-maps-1a2b3c4d`.
    package var name: String
    /// What starts it.
    package var manager: Manager
    /// How often, in seconds.
    package var every: Int64
    /// The root's absolute path.
    package var root: String
    /// The manifests: absolute paths and URLs.
    package var manifests: [String]

    /// Takes the values.
    package init(
        name: String, manager: Manager, every: Int64, root: String, manifests: [String]
    ) {
        self.name = name
        self.manager = manager
        self.every = every
        self.root = root
        self.manifests = manifests
    }

    /// The name of a schedule for a root: readable, and no other's.
    ///
    /// - Parameter hash: hexadecimal digits that differ for other roots and manifests.
    package static func name(root: String, hash: String) -> String {
        let last = root.split(separator: "/").last.map(String.init) ?? "root"
        let readable = last.lowercased().unicodeScalars.map { character in
            ("a"..."z").contains(character) || ("0"..."9").contains(character)
                ? String(character) : "-"
        }.joined()
        return "mirror-\(readable.prefix(40))-\(hash.prefix(8))"
    }

    /// Writes the schedule as members of an object.
    package func writeMembers(to json: inout JSONWriter) {
        json.member("name", name)
        json.member("manager", manager.rawValue)
        json.member("every", every)
        json.member("root", root)
        json.member("manifests", manifests)
    }
}
