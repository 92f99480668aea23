@testable import MirrorKit
import MirrorTestSupport
import Testing

/// docs/events.md names every word and every member that scripts can meet, and no others.
@Suite struct EventsPageTests {
    private let page = DocsPage("docs/events.md")

    @Test func everyFailureCodeHasItsRow() throws {
        #expect(
            try page.tableKeys(beneath: "Failure codes")
                == Set(FailureCode.allCases.map(\.rawValue)))
    }

    @Test func everyOmissionOfAnExportHasItsRow() throws {
        #expect(
            try page.tableKeys(beneath: "The export document")
                == Set(ExportOmission.Reason.all.map(\.rawValue)))
    }

    @Test func everyOutcomeHasItsRow() throws {
        #expect(
            try page.tableKeys(beneath: "Outcomes") == Set(Outcome.allCases.map(\.rawValue)))
    }

    @Test func everyStepHasItsRow() throws {
        #expect(
            try page.tableKeys(beneath: "Steps") == Set(Step.Kind.allCases.map(\.rawValue)))
    }

    /// Reasons carry values and so cannot be listed by the compiler; their codes are read from source.
    @Test func everyReasonHasItsRow() throws {
        let source = try DocsPage("Sources/MirrorKit/Model/Plan/Reason.swift").text()
        let start = try #require(source.split(separator: " var code: String {").last)
        let body = try #require(start.split(separator: "\n    }\n").first)
        let codes = DocsPage.quoted(in: body)
        #expect(codes.count > 20)
        #expect(try page.tableKeys(beneath: "Reasons") == Set(codes))
    }

    @Test func everyEventHasItsRow() throws {
        let source = try DocsPage("Sources/MirrorKit/Model/Run/Event+JSON.swift").text()
        let start = try #require(source.split(separator: "var name: String {").last)
        let body = try #require(start.split(separator: "\n    }\n").first)
        let rows = try page.tableKeys(beneath: "Events of a run")
        let names = DocsPage.quoted(in: body)
        #expect(names.count == 13)
        for name in names { #expect(rows.contains(name), "\(name) has no row") }
    }

    /// Whatever the sources write as a member of an object is named somewhere on the page.
    @Test func everyMemberIsNamed() throws {
        let words = Set(DocsPage.codeWords(in: try page.text()))
        let sources = DocsPage.repository.entries(beneath: "Sources").map(\.name)
            .filter { name in
                // The writers of manifests have their own page.
                name.hasSuffix(".swift") && !name.hasPrefix("Sources/MirrorKit/Formats/")
            }
        var members: Set<String> = []
        for source in sources {
            members.formUnion(try DocsPage.literals(after: ".member(", in: source))
            members.formUnion(try DocsPage.literals(after: ".key(", in: source))
        }
        #expect(members.count > 30)
        #expect(members.subtracting(words).sorted() == [])
    }
}

extension DocsPage {
    /// The string literals of a piece of source.
    static func quoted(in source: some StringProtocol) -> [String] {
        source.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
    }
}
