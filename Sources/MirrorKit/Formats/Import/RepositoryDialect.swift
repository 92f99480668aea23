extension ListKind {
    /// `repomd.xml` of an RPM repository.
    static var repomd: ListKind {
        rpm("repomd.xml", .root("repomd", in: "http://linux.duke.edu/metadata/repo"))
    }

    /// `primary.xml` of an RPM repository.
    static var rpmPrimary: ListKind {
        rpm("primary.xml", .root("metadata", in: "http://linux.duke.edu/metadata/common"))
    }

    private static func rpm(_ title: String, _ evidence: Evidence) -> ListKind {
        ListKind(
            title, "XML", .dialect { RepositoryDialect($0) }, evidence,
            base: { url in
                let folder = url.path.split(separator: "/").dropLast().last
                return url.beside(folder == "repodata" ? "../" : "./")
            })
    }
}

/// Reads RPM metadata, in which each `data` (repomd.xml) or `package` (primary.xml) is a file.
private final class RepositoryDialect: ListDialect {
    private var entry: ListEntry?
    private var digest: (algorithm: String, hex: ListWord)?

    private var isFile: Bool {
        path == ["repomd", "data"] || path == ["metadata", "package"]
    }

    override func opened(_ element: XMLElement) {
        if isFile {
            entry = ListEntry(at: element.place)
            digest = nil
        }
        guard path.count == 3, entry != nil else { return }
        switch element.name {
        case "location": setLocation(element)
        case "size" where path.first == "metadata":
            entry?.size = element.attribute("package")
        default: break
        }
    }

    override func closed(_ element: XMLElement, _ text: ListWord) {
        if isFile { return finish() }
        guard path.count == 3, entry != nil else { return }
        switch element.name {
        case "checksum": digest = (element.attribute("type")?.value ?? "", text)
        case "size" where path.first == "repomd": entry?.size = text
        default: break
        }
    }

    private func setLocation(_ element: XMLElement) {
        guard let href = element.attribute("href") else { return }
        entry?.path = href
        guard let base = element.attribute("xml:base") else { return }
        let slash = base.value.utf8.last == UInt8(ascii: "/") ? "" : "/"
        let reference = SourceURL.reference(toName: href.value).dropFirst(2)
        entry?.url = base.with(base.value + slash + reference)
    }

    private func finish() {
        guard var entry else { return }
        self.entry = nil
        guard entry.path != nil else {
            return collector.leaveOut("a file", "it has no location", at: entry.place)
        }
        if let digest {
            // Older repositories write `sha` for sha1.
            let name = digest.algorithm == "sha" ? "sha1" : digest.algorithm
            if !entry.addDigest(name, digest.hex) {
                return collector.leaveOut(
                    entry.path?.value ?? "",
                    "its digest is \(Quoted(name, limit: 40)), which mirror does not compute",
                    at: digest.hex.place)
            }
        }
        collector.add(entry)
    }
}
