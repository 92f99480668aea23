internal import CXML2
internal import MirrorModel
internal import MirrorSystem

/// A directory listing of a web server: of nginx, Apache, lighttpd, caddy, Python and the like in HTML,
/// of nginx and caddy in JSON.
///
/// Files and folders under the listing's own URL are entries. Other links lead elsewhere: to the folder
/// above, to the same listing in another order, to the server's maker.
enum IndexList {
    static var kind: ListKind {
        ListKind(
            "a directory listing", "HTML or JSON", .tree(read),
            // Many folders are called alike.
            name: { url in
                ([url.host[...]] + url.path.parts(at: "/")).joined(separator: "-")
            })
    }

    /// Whether a page calls itself a listing.
    static func isListing(_ page: HTMLPage) -> Bool {
        let marks = ["index of", "directory listing", "directory: /"]
        return page.hasListingTable
            || page.titles.contains { title in
                let title = title.lowercased()
                return marks.contains { title.contains($0) }
            }
    }

    /// Whether an array in JSON is a listing of nginx or caddy.
    static func isListing(_ tree: JSONTree) -> Bool {
        guard !tree.elements.isEmpty else { return false }
        return tree.elements.allSatisfy { element in
            guard element["name"]?.string != nil else { return false }
            let isOfNginx = ["file", "directory", "other"].contains(element["type"]?.string)
            return isOfNginx && element["mtime"] != nil || element["is_dir"]?.bool != nil
        }
    }

    /// The greatest number of entries of a listing and its folders.
    private static let mostEntries = 100_000

    static func read(_ page: HTMLPage, into collector: ListCollector) {
        guard let folder = folder(of: collector), isShort(page.links.count, collector) else {
            return
        }
        for link in page.links {
            guard let url = try? SourceURL(link.reference, relativeTo: folder.url) else { continue }
            add(
                url, size: size(in: link.tail), in: folder, at: TextPosition(line: 0), to: collector
            )
        }
    }

    static func read(_ tree: JSONTree, into collector: ListCollector) {
        guard let folder = folder(of: collector), isShort(tree.elements.count, collector) else {
            return
        }
        for element in tree.elements {
            guard let name = element["name"]?.string else { continue }
            let isFolder = element["type"]?.string == "directory" || element["is_dir"]?.bool == true
            let plain = name.utf8.last == UInt8(ascii: "/") ? String(name.dropLast()) : name
            let reference = SourceURL.reference(toName: plain) + (isFolder ? "/" : "")
            guard element["type"]?.string != "other",
                let url = try? SourceURL(reference, relativeTo: folder.url)
            else {
                collector.leaveOut(name, "neither a file nor a folder", at: element.place)
                continue
            }
            let size = (element["size"]?.number?.value).flatMap { Int64($0) }
            add(url, size: size, in: folder, at: element.place, to: collector)
        }
    }

    private static func isShort(_ count: Int, _ collector: ListCollector) -> Bool {
        // The links to other orders and to the folder above are none.
        if count <= mostEntries + 100 { return true }
        collector.log.error(
            at: TextPosition(), "a listing of \(count) entries; at most \(mostEntries) are read")
        return false
    }

    /// The folder that the listing is of; nil, with an error, for a page in a file.
    private static func folder(of collector: ListCollector) -> ListedFolder? {
        let answered = collector.hint.answeredBy
        if case .folder(var folder)? = collector.hint.part {
            // A long listing comes in pages, whose URLs have queries.
            folder.url = (try? SourceURL("./", relativeTo: answered ?? folder.url)) ?? folder.url
            return folder
        }
        // A page in a file needs the URL of its folder.
        let place: SourceURL? =
            if case .url(let url) = collector.builder.check.origin { answered ?? url } else {
                collector.hint.base
            }
        guard let place, let plain = try? SourceURL("./", relativeTo: place) else {
            collector.log.error(
                at: TextPosition(), "a directory listing in a file does not say where it is",
                remedy: Remedy(.nameBase))
            return nil
        }
        collector.useBase()
        return ListedFolder(url: plain)
    }

    /// The size behind a link, as nginx and Apache write it: the last word, a number perhaps with a unit.
    private static func size(in text: String) -> Int64? {
        guard var word = text.split(whereSeparator: \.isWhitespace).last else { return nil }
        let units: [Character: Double] = ["K": 0x1p10, "M": 0x1p20, "G": 0x1p30, "T": 0x1p40]
        let unit = word.last.flatMap { units[$0] }
        if unit != nil { word = word.dropLast() }
        guard word.allSatisfy({ ("0"..."9").contains($0) || $0 == "." }), let number = Double(word)
        else { return nil }
        return Int64(exactly: (number * (unit ?? 1)).rounded())
    }

    private static func add(
        _ url: SourceURL, size: Int64?, in folder: ListedFolder, at place: TextPosition,
        to collector: ListCollector
    ) {
        guard url.origin == folder.url.origin, url.path.hasPrefix(folder.url.path) else { return }
        let rest = url.path.dropFirst(folder.url.path.count)
        // The listing itself, perhaps in another order.
        guard !rest.isEmpty else { return }
        guard let name = SourceURL.decoded(rest) else {
            collector.leaveOut(String(rest), "its name is no UTF-8", at: place)
            return
        }
        guard rest.utf8.last == UInt8(ascii: "/") else {
            var entry = ListEntry(at: place)
            entry.url = ListWord(value: url.textWithSecrets, place: place)
            entry.path = ListWord(value: folder.path + name, place: place)
            entry.likelySize = size.flatMap { $0 >= 0 ? $0 : nil }
            return collector.add(entry)
        }
        let depth = folder.depth + rest.utf8.count { $0 == UInt8(ascii: "/") }
        let most = collector.hint.depth ?? ListHint.defaultDepth
        guard depth <= most else {
            collector.leaveOut(
                folder.path + name, "a folder beyond depth \(most)", at: place)
            return
        }
        collector.parts.append(
            .folder(ListedFolder(url: url, path: folder.path + name, depth: depth)))
    }
}

/// The links of a page of HTML, and what it calls itself; read by libxml2, which mends what is malformed.
struct HTMLPage {
    /// A link.
    struct Link {
        /// Its `href`, with character references resolved.
        var reference: String
        /// The text between its tags.
        var text = ""
        /// The text behind it, up to the next link.
        var tail = ""
    }

    /// The text of `title`, and of the first heading.
    private(set) var titles: [String] = []
    private(set) var links: [Link] = []
    /// Whether it has the table of caddy's file server.
    private(set) var hasListingTable = false

    /// The greatest length of a text that is kept, in bytes.
    private static let longestText = SourceURL.longestText

    /// The most words in a tag: libxml2 compares all attributes of an element with each other.
    private static let mostWords = 2000

    /// Reads a whole page; what is wrong with it is in the log.
    init(_ bytes: [UInt8], log: DiagnosticLog) throws(DecodingStop) {
        guard !HTMLPage.hasEndlessTag(bytes) else {
            log.error(at: TextPosition(), "a tag with more than \(HTMLPage.mostWords) words in it")
            throw .refused
        }
        // libxml2 would end there.
        guard !bytes.contains(0) else {
            log.error(at: TextPosition(), "a NUL character")
            throw .refused
        }
        XMLPushParser.prepareLibrary
        // libxml2 would end at the first byte that is no UTF-8.
        let text = Array(String(decoding: bytes, as: UTF8.self).utf8)
        let reader = Reader()
        let result = text.withUnsafeBytes { raw in
            let start = raw.bindMemory(to: CChar.self)
            return cxml2_read_html(
                start.baseAddress, Int32(start.count), startElement, endElement, characters,
                Unmanaged.passUnretained(reader).toOpaque())
        }
        guard result == 0 else {
            throw .unreadable(MirrorError(.internalError, "libxml2 cannot make a parser."))
        }
        self = reader.page
    }

    private init() {}

    private static func hasEndlessTag(_ bytes: [UInt8]) -> Bool {
        // Words since the last `<`, unless a `>` came.
        var words: Int?
        var previous: UInt8 = 0x20
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "<"): words = 0
            case UInt8(ascii: ">"): words = nil
            default:
                if let count = words, previous <= 0x20, byte > 0x20 {
                    if count == mostWords { return true }
                    words = count + 1
                }
            }
            previous = byte
        }
        return false
    }

    /// Collects what the parser calls out. It lives as long as the call of the parser.
    fileprivate final class Reader {
        var page = HTMLPage()
        /// What the text belongs to.
        private var place: Place?

        private enum Place { case title, link, tail }

        func start(_ name: String, _ attribute: (String) -> String?) {
            switch name {
            case "title", "h1", "h2":
                guard page.titles.count < 2 else { return }
                page.titles.append("")
                place = .title
            case "a":
                guard let reference = attribute("href") else { return }
                page.links.append(Link(reference: reference))
                place = .link
            case "table" where attribute("aria-describedby") == "summary":
                page.hasListingTable = true
            default: break
            }
        }

        func end(_ name: String) {
            switch name {
            case "title", "h1", "h2", "tr", "table", "pre", "li", "ul": place = nil
            case "a": place = page.links.isEmpty ? nil : .tail
            default:
                // Cells are words of their own.
                if case .tail? = place, page.links[page.links.count - 1].tail.utf8.count < 256 {
                    page.links[page.links.count - 1].tail += " "
                }
            }
        }

        func add(_ bytes: UnsafeBufferPointer<UInt8>) {
            let text = { String(decoding: bytes, as: UTF8.self) }
            switch place {
            case .title?:
                let last = page.titles.count - 1
                if page.titles[last].utf8.count < longestText { page.titles[last] += text() }
            case .link?:
                let last = page.links.count - 1
                if page.links[last].text.utf8.count < longestText {
                    page.links[last].text += text()
                }
            case .tail?:
                let last = page.links.count - 1
                if page.links[last].tail.utf8.count < 256 { page.links[last].tail += text() }
            case nil: break
            }
        }
    }
}

// The callbacks are plain functions, because a closure in isolated code would inherit its actor.

private func reader(_ user: UnsafeMutableRawPointer?) -> HTMLPage.Reader? {
    user.map { Unmanaged<HTMLPage.Reader>.fromOpaque($0).takeUnretainedValue() }
}

private func startElement(
    user: UnsafeMutableRawPointer?, name: UnsafePointer<xmlChar>?,
    attributes: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?
) {
    guard let name else { return }
    reader(user)?.start(String(cString: name)) { wanted in
        // Names and values by turns; nil ends them.
        var at = 0
        while let attributes, let found = attributes[at] {
            if String(cString: found) == wanted {
                return attributes[at + 1].map { String(cString: $0) }
            }
            at += 2
        }
        return nil
    }
}

private func endElement(user: UnsafeMutableRawPointer?, name: UnsafePointer<xmlChar>?) {
    if let name { reader(user)?.end(String(cString: name)) }
}

private func characters(
    user: UnsafeMutableRawPointer?, bytes: UnsafePointer<xmlChar>?, count: Int32
) {
    reader(user)?.add(UnsafeBufferPointer(start: bytes, count: Int(count)))
}
