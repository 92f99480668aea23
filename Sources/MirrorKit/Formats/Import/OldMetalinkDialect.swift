extension ListKind {
    /// Metalink 3.
    static var metalink3: ListKind {
        ListKind(
            "Metalink 3", "XML", .dialect { OldMetalinkDialect($0) },
            .root("metalink", in: "http://www.metalinker.org/"))
    }
}

/// Reads Metalink 3, in which the URLs of a `file` have preferences. The highest comes first.
private final class OldMetalinkDialect: ListDialect {
    private static let file = ["metalink", "files", "file"]
    private var entry: ListEntry?
    private var links: [(url: ListWord, preference: Int)] = []

    override func opened(_ element: XMLElement) {
        guard path == Self.file else { return }
        entry = ListEntry(at: element.place)
        entry?.path = element.attribute("name")
        links = []
    }

    override func closed(_ element: XMLElement, _ text: ListWord) {
        guard path.starts(with: Self.file), entry != nil else { return }
        switch path.dropFirst(3) {
        case []: finish()
        case ["size"]: entry?.size = text
        case ["verification", "hash"]: addDigest(element, text)
        case ["resources", "url"]: addLink(element, text)
        default: break
        }
    }

    private func addDigest(_ element: XMLElement, _ text: ListWord) {
        let name = element.attribute("type")?.value ?? ""
        if entry?.addDigest(name, text) == false {
            collector.noteUnknownDigest(name, at: element.place)
        }
    }

    private func addLink(_ element: XMLElement, _ text: ListWord) {
        let kind = element.attribute("type")?.value ?? "http"
        guard ["http", "https"].contains(kind) else {
            collector.note(
                "left out: of type \(Quoted(kind, limit: 40))", "source", at: element.place)
            return
        }
        links.append((text, element.attribute("preference").flatMap { Int($0.value) } ?? 0))
    }

    private func finish() {
        guard var entry else { return }
        self.entry = nil
        let order = links.indices.sorted {
            (-links[$0].preference, $0) < (-links[$1].preference, $1)
        }
        guard !links.isEmpty else {
            return collector.leaveOut(
                entry.path?.value ?? "", "it has no url with http or https", at: entry.place)
        }
        let urls = collector.spoken(order.map { links[$0].url }, name: entry.path?.value)
        guard !urls.isEmpty else { return }
        entry.setSources(urls)
        collector.add(entry)
    }
}
