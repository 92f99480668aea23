@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Holds the scanner that edits rely on against libxml2: both must find the same tags at the same places.
@Suite struct XMLTagScannerTests {
    /// A tag as both see it.
    private struct Seen: Equatable, CustomStringConvertible {
        let name: String
        let attributes: [String]
        let line: Int
        let column: Int

        var description: String { "\(line):\(column) <\(name) \(attributes)>" }
    }

    /// Notes every element that libxml2 reports.
    private final class Recorder: XMLDialect {
        var seen: [Seen] = []
        var ends = 0

        func start(_ element: XMLElement) {
            seen.append(
                Seen(
                    name: element.name, attributes: element.attributes.map(\.name),
                    line: element.place.line, column: element.place.column))
        }

        func end(text: String, textAt: TextPosition, at place: TextPosition) { ends += 1 }
    }

    @Test(arguments: [
        "<a/>", "<a></a>", "<a><b/><b></b></a>", "<?xml version=\"1.0\"?>\n<a/>",
        "<a x='1' y=\"2\"/>", "<a x = '1'\n   y\t=\n\"2\" />", "<a x='\"' y=\"'\"/>",
        "<a x=\"a>b/>c\"><b/></a>", "<a x='&lt;&amp;&#65;'><b y='&quot;'/></a>",
        "<!-- <x> --><a><!-- </a> > --><b/></a><!-- <y/> -->",
        "<a><![CDATA[<x y='1'>]]><b/><![CDATA[]]]]></a>", "<a><?pi <x> ?><b/></a>",
        "<p:a xmlns:p='urn:x' p:x='1'><p:b/></p:a>", "<a>\r\n  <b\r\n c='d'/>\r\n</a>",
        "<ä ö='ü'><日本 x='語'/>text ü <b/></ä>", "<a >\n</a >", "<a-b.c_d x-y.z='1'/>",
    ])
    func tagsAndPlacesMatchLibxml2(text: String) throws {
        try expectAgreement(Array(text.utf8))
    }

    private static let manifests = CaseFiles.manifests(in: "good")
        .filter { $0.hasSuffix(".xml") || $0.hasSuffix(".meta4") }

    @Test(arguments: manifests)
    func tagsOfGoodManifestsMatchLibxml2(name: String) throws {
        try expectAgreement(try CaseFiles.bytes(CaseFiles.cases + name))
    }

    private func expectAgreement(_ bytes: [UInt8]) throws {
        let recorder = Recorder()
        let parser = XMLPushParser(log: DiagnosticLog(file: "x"), dialect: recorder)
        try parser.parse(ManifestBytes(bytes))
        var scanner = XMLTagScanner(bytes)
        var seen: [Seen] = []
        var ends = 0
        while let tag = scanner.next() {
            if tag.isEnd || tag.isEmpty { ends += 1 }
            if tag.isEnd { continue }
            let before = bytes[..<tag.start]
            let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            let mark = lineStart == 0 && bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 1 : 0
            seen.append(
                Seen(
                    name: String(tag.localName),
                    attributes: tag.attributes.map(\.name).filter { !$0.hasPrefix("xmlns") },
                    line: before.count { $0 == UInt8(ascii: "\n") } + 1,
                    column: bytes[lineStart..<tag.start].count { $0 & 0xC0 != 0x80 } + 1 - mark))
        }
        #expect(seen == recorder.seen)
        #expect(ends == recorder.ends)
    }
}
