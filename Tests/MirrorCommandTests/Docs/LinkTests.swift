import MirrorTestSupport
import Testing

/// A relative link in the README or a page leads to a file that is there, and to a heading in it.
@Suite struct LinkTests {
    @Test(arguments: DocsPage.all) func everyRelativeLinkLeadsSomewhere(_ page: DocsPage) throws {
        for link in try page.links() where !link.contains("://") {
            let parts = link.split(separator: "#", omittingEmptySubsequences: false)
            let file = parts.first ?? ""
            let path = file.isEmpty ? page.path : LinkTests.resolve(file, from: page.path)
            #expect(DocsPage.repository.read(path) != nil, "\(page.path): \(link)")
            if parts.count > 1, path.hasSuffix(".md") {
                let anchors = try DocsPage(path).anchors()
                #expect(anchors.contains(String(parts[1])), "\(page.path): \(link)")
            }
        }
    }

    /// What a relative link of a page means, from the repository.
    private static func resolve(_ link: some StringProtocol, from page: String) -> String {
        var folders = page.split(separator: "/").dropLast().map(String.init)
        for component in link.split(separator: "/") where component != "." {
            if component == "..", !folders.isEmpty {
                folders.removeLast()
            } else {
                folders.append(String(component))
            }
        }
        return folders.joined(separator: "/")
    }
}
