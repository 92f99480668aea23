internal import CXML2

extension ListKind {
    /// A directory listing of a web server.
    ///
    /// The listing is HTML (of nginx, Apache, lighttpd, caddy, Python and others) or JSON (of nginx
    /// and caddy). Files and folders under the listing's own URL are entries. Other links lead to
    /// the folder above, to the same listing in another order, or to the server's maker.
    static var index: ListKind {
        ListKind(
            "a directory listing", "HTML or JSON", .tree(read),
            // Many folders have the same name, so host and path make the name of the list.
            name: { url in
                ([url.host[...]] + url.path.parts(at: "/")).joined(separator: "-")
            })
    }

    /// The most entries of a listing together with its folders.
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

    private static func read(_ tree: JSONTree, into collector: ListCollector) {
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
        // Up to 100 links may lead to other orders or to the folder above; they are no entries.
        if count <= mostEntries + 100 { return true }
        collector.log.error(
            at: TextPosition(), "a listing of \(count) entries; at most \(mostEntries) are read")
        return false
    }

    /// Returns the folder that the listing shows.
    ///
    /// Logs an error and returns nil if the page is a file and no base is known.
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

    /// Reads the size behind a link, as nginx and Apache write it.
    ///
    /// The size is the last word: a number, which may have a unit. Returns nil if this word is no
    /// number.
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
        // The link leads to the listing itself, perhaps in another order.
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

extension JSONTree {
    /// Whether an array is a listing of nginx or caddy.
    var isListing: Bool {
        guard !elements.isEmpty else { return false }
        return elements.allSatisfy { element in
            guard element["name"]?.string != nil else { return false }
            let isOfNginx = ["file", "directory", "other"].contains(element["type"]?.string)
            return isOfNginx && element["mtime"] != nil || element["is_dir"]?.bool != nil
        }
    }
}

/// The links and the titles of a page of HTML.
///
/// libxml2 reads the page and repairs what is malformed.
final class HTMLPage {
    /// The texts of `title` and of the first heading.
    private var titles: [String] = []
    /// Each link's `href`, with character references resolved, and its tail.
    ///
    /// The tail is the text behind the link, up to the next link.
    private(set) var links: [(reference: String, tail: String)] = []
    /// Whether the page has the table of caddy's file server.
    private var hasListingTable = false
    /// `isInTitle`: the next text belongs to a title. `isInTail`: it belongs to a link's tail.
    private var (isInTitle, isInTail) = (false, false)

    /// The most bytes of a text that are kept.
    private static let longestText = SourceURL.longestText

    /// The most words in a tag: libxml2 compares all attributes of an element with each other.
    private static let mostWords = 2000

    /// Reads a whole page. Errors of the page go to the log.
    init(_ bytes: [UInt8], log: DiagnosticLog) throws(DecodingStop) {
        guard !HTMLPage.hasEndlessTag(bytes) else {
            log.error(at: TextPosition(), "a tag with more than \(HTMLPage.mostWords) words in it")
            throw .refused
        }
        // libxml2 would stop reading at a NUL byte.
        guard !bytes.contains(0) else {
            log.error(at: TextPosition(), "a NUL character")
            throw .refused
        }
        XMLPushParser.prepareLibrary
        // libxml2 would stop reading at the first byte that is not UTF-8.
        let text = Array(String(decoding: bytes, as: UTF8.self).utf8)
        let result = text.withUnsafeBytes { raw in
            let start = raw.bindMemory(to: CChar.self)
            return cxml2_read_html(
                start.baseAddress, Int32(start.count), startElement, endElement, characters,
                Unmanaged.passUnretained(self).toOpaque())
        }
        guard result == 0 else {
            throw .unreadable(MirrorError(.internalError, "libxml2 cannot make a parser."))
        }
    }

    /// Whether the page calls itself a directory listing.
    var isListing: Bool {
        let marks = ["index of", "directory listing", "directory: /"]
        return hasListingTable
            || titles.contains { title in
                let title = title.lowercased()
                return marks.contains { title.contains($0) }
            }
    }

    private static func hasEndlessTag(_ bytes: [UInt8]) -> Bool {
        // The number of words since the last `<`; nil after a `>`.
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

    // MARK: What the parser calls out

    fileprivate func start(_ name: String, _ attribute: (String) -> String?) {
        switch name {
        case "title", "h1", "h2":
            guard titles.count < 2 else { return }
            titles.append("")
            (isInTitle, isInTail) = (true, false)
        case "a":
            guard let reference = attribute("href") else { return }
            links.append((reference, ""))
            (isInTitle, isInTail) = (false, false)
        case "table" where attribute("aria-describedby") == "summary":
            hasListingTable = true
        default: break
        }
    }

    fileprivate func end(_ name: String) {
        switch name {
        case "title", "h1", "h2", "tr", "table", "pre", "li", "ul":
            (isInTitle, isInTail) = (false, false)
        case "a": (isInTitle, isInTail) = (false, !links.isEmpty)
        default:
            // Cells are words of their own.
            if isInTail { addToTail(" ") }
        }
    }

    fileprivate func add(_ bytes: UnsafeBufferPointer<UInt8>) {
        if isInTitle {
            let last = titles.count - 1
            guard titles[last].utf8.count < HTMLPage.longestText else { return }
            titles[last] += String(decoding: bytes, as: UTF8.self)
        } else if isInTail {
            addToTail(String(decoding: bytes, as: UTF8.self))
        }
    }

    private func addToTail(_ text: String) {
        let last = links.count - 1
        if links[last].tail.utf8.count < 256 { links[last].tail += text }
    }
}

// libxml2 calls these functions.

private func reader(_ user: UnsafeMutableRawPointer?) -> HTMLPage? {
    user.map { Unmanaged<HTMLPage>.fromOpaque($0).takeUnretainedValue() }
}

private func startElement(
    user: UnsafeMutableRawPointer?, name: UnsafePointer<xmlChar>?,
    attributes: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?
) {
    guard let name else { return }
    reader(user)?.start(String(cString: name)) { wanted in
        // Names and values alternate; nil ends the array.
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
