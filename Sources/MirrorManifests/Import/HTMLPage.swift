internal import CXML2
internal import MirrorModel
internal import MirrorSystem

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
