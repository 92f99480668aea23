import Testing

@testable import MirrorKit

/// TOML 1.0 as lock files have it, case by case.
@Suite struct TOMLParserTests {
    /// The tree as text; nil when the text was refused.
    private func read(_ text: String) -> (tree: String?, error: String?) {
        let log = DiagnosticLog(file: "t")
        let tree = try? TOMLParser.tree(
            of: try ListText(ManifestBytes(Array(text.utf8)), log: log), log: log)
        return (tree.map(Self.words), log.refusal?.diagnostics.first?.description)
    }

    private static func words(_ tree: JSONTree) -> String {
        switch tree.value {
        case .object(let members):
            "{" + members.map { "\($0.key):\(words($0.value))" }.joined(separator: ",") + "}"
        case .array(let elements): "[" + elements.map(words).joined(separator: ",") + "]"
        case .string(let text): text.debugDescription
        case .number(let text): text
        case .boolean(let flag): "\(flag)"
        case .null: "null"
        }
    }

    private static let good: [(String, String)] = [
        ("", "{}"),
        ("# only a comment", "{}"),
        ("a = 1", "{a:1}"),
        ("a = 1 # why\r\nb = \"x\"\r\n", "{a:1,b:\"x\"}"),
        ("a-b_1 = true", "{a-b_1:true}"),
        ("\"a b\" = false\n'c' = 0", "{a b:false,c:0}"),
        ("a.b.c = 1\na.b.d = 2", "{a:{b:{c:1,d:2}}}"),
        ("[t]\na = 1\n[t.u]\nb = 2", "{t:{a:1,u:{b:2}}}"),
        ("[t.u]\nb = 2\n[t]\na = 1", "{t:{u:{b:2},a:1}}"),
        ("[[p]]\nn = 1\n[[p]]\nn = 2\n[p.q]\nx = 3", "{p:[{n:1},{n:2,q:{x:3}}]}"),
        ("[[p]]\n[[p.w]]\na = 1\n[[p.w]]\na = 2", "{p:[{w:[{a:1},{a:2}]}]}"),
        ("a = [1, 2,\n # in between\n 3,]", "{a:[1,2,3]}"),
        ("a = { b = 1, c = { d = \"e\" } }", "{a:{b:1,c:{d:\"e\"}}}"),
        ("a = { b.c = 1 }", "{a:{b:{c:1}}}"),
        ("a = {}\nb = []", "{a:{},b:[]}"),
        ("a = \"\\u00E9\\n\\\"\\\\\"", "{a:\"é\\n\\\"\\\\\"}"),
        ("a = 'C:\\x'", "{a:\"C:\\\\x\"}"),
        ("a = \"\"\"\nx\ny\\\n   z\"\"\"", "{a:\"x\\nyz\"}"),
        ("a = '''\nx'y'''", "{a:\"x\\'y\"}"),
        ("a = 1_000\nb = +5\nc = -0.5e3\nd = 0xFF\ne = inf", "{a:1000,b:5,c:-0.5e3,d:0xFF,e:inf}"),
        (
            "a = 2024-02-10T11:07:25Z\nb = 2024-02-10 11:07:25\nc = 07:32:00",
            "{a:\"2024-02-10T11:07:25Z\",b:\"2024-02-10 11:07:25\",c:\"07:32:00\"}"
        ),
    ]

    @Test(arguments: good) func soundTextBecomesItsTree(text: String, tree: String) {
        let read = read(text)
        #expect(read.error == nil)
        #expect(read.tree == tree)
    }

    private static let bad: [(String, String)] = [
        ("a", "t:1:2: error: = is missing"), ("a =", "t:1:4: error: the text ends"),
        ("= 1", "t:1:1: error: a key is missing"),
        ("a = 1 b = 2", "t:1:7: error: something behind"),
        ("a = 1\na = 2", "t:2:1: error: the key"), ("[a]\n[a]", "t:2:2: error: the key"),
        ("a = 1\n[a]", "t:2:2: error: the key"), ("a = {b = 1}\n[a.c]", "t:2:2: error: the key"),
        ("a = {b = 1}\na.c = 2", "t:2:1: error: the key"),
        ("[a.b]\n[a]\nb.c = 1", "t:3:1: error: the key"),
        ("[[a]]\n[a]", "t:2:2: error: the key"), ("a = []\n[[a]]", "t:2:3: error: the key"),
        ("a = \"x", "t:1:7: error: the text ends inside a string"),
        ("a = \"x\ny\"", "t:1:7: error: a line break"), ("a = \"\\q\"", "t:1:6: error: no escape"),
        ("a = \"\\uD800\"", "t:1:6: error: the escape"), ("a = 01", "t:1:5: error: \"01\""),
        ("a = yes", "t:1:5: error: \"yes\""), ("a = 1__0", "t:1:5: error: \"1__0\""),
        ("a = [1 2]", "t:1:8: error: a comma"), ("a = {b = 1", "t:1:11: error: a comma"),
        ("[a", "t:1:3: error: ] is missing"), ("[]", "t:1:2: error: a key is missing"),
        ("é = 1", "t:1:1: error: a key is missing"), ("a = \"é\" x", "t:1:9: error: something"),
        ("a = \(String(repeating: "[", count: 40))", "t:1:37: error: more than 32 levels"),
    ]

    @Test(arguments: bad) func flawedTextIsRefusedAtItsPlace(text: String, error: String) {
        let read = read(text)
        #expect(read.tree == nil)
        #expect(read.error?.hasPrefix(error) == true, "\(read.error ?? "no error")")
    }
}
