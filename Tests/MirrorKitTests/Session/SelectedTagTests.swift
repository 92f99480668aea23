@testable import MirrorKit
import Testing

/// Which tags `--only` and `--skip` select; a tag with plus signs has several words.
@Suite struct SelectedTagTests {
    private static let cases: [(tags: [String], only: [String], skip: [String], isSelected: Bool)] =
        [
            ([], [], [], true), ([], ["dev"], [], false), ([], [], ["dev"], true),
            (["dev"], [], ["dev"], false), (["dev"], ["dev"], [], true),
            (["dev", "a"], [], ["dev"], false), (["dev", "optional"], [], ["dev"], false),
            (["dev+optional"], [], ["dev"], true), (["dev+optional"], [], ["optional"], true),
            (["dev+optional"], [], ["dev", "optional"], false),
            (["dev+optional"], [], ["dev+optional"], false),
            (["dev+optional"], ["dev"], [], true), (["dev+optional"], ["optional"], [], true),
            (["dev+optional"], ["dev+optional"], [], true), (["dev+optional"], ["a"], [], false),
            (["dev+optional"], ["dev"], ["optional"], true),
            (["a", "dev+optional"], ["a"], ["dev", "optional"], false),
            (["c++"], [], ["c"], true), (["c++"], ["c"], [], false), (["c++"], ["c++"], [], true),
            (["+"], [], ["+"], false),
        ]

    @Test(arguments: cases.indices) func tagsSelectAResource(_ index: Int) {
        let given = Self.cases[index]
        var options = PlanOptions()
        (options.only, options.skip) = (Set(given.only), Set(given.skip))
        #expect(options.selects(tags: given.tags) == given.isSelected, "\(given)")
    }
}
