import MirrorTestSupport

/// Packages as a registry of npm serves them: a document for each name, and their archives.
struct NPMRegistry {
    /// One version of a package.
    struct Package {
        let name: String
        let version: String
        var dependencies: [String: String] = [:]
        /// Whether the registry knows it by sha1 only, as it did before 2017.
        var isOld = false

        /// The text of its package.json.
        var description: String {
            let needs = dependencies.sorted { $0.key < $1.key }
                .map { "\"\($0.key)\": \"\($0.value)\"" }.joined(separator: ", ")
            return "{ \"name\": \"\(name)\", \"version\": \"\(version)\","
                + " \"dependencies\": { \(needs) } }"
        }

        var archive: [UInt8] { Gzip.encode(TarFile.of("package/package.json", description)) }

        /// Where the archive is, relative to the registry.
        var place: String { "\(name)/-/\(name.split(separator: "/").last ?? "")-\(version).tgz" }
    }

    let packages: [Package]

    /// Makes the origin of a stage serve everything.
    func open(at stage: SyncedStage) {
        for package in packages { stage.serve(package.archive, at: package.place) }
        for (name, versions) in Dictionary(grouping: packages, by: \.name) {
            // npm asks for a scoped package with its slash encoded.
            let path = name.split(separator: "/").joined(separator: "%2f")
            stage.serve(Array(document(of: versions, at: stage.server.url).utf8), at: path)
        }
    }

    private func document(of versions: [Package], at url: String) -> String {
        let entries = versions.map { package in
            let digest =
                package.isOld
                ? "" : "\"integrity\": \"\(Checksum.integrity(package.archive))\", "
            let place = "\"tarball\": \"\(url)/\(package.place)\""
            let sha1 = "\"shasum\": \"\(Checksum.sha1(package.archive))\""
            return "\"\(package.version)\": \(package.description.dropLast(2)),"
                + " \"dist\": { \(digest)\(sha1), \(place) } }"
        }
        return """
            { "name": "\(versions[0].name)",
              "dist-tags": { "latest": "\(versions[versions.count - 1].version)" },
              "versions": { \(entries.joined(separator: ",\n")) } }
            """
    }
}
