import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Testing

@testable import mirror

@Suite struct EffectiveWordsTests {
    private static let catalog = OptionCatalog()

    private func words(
        _ line: String, _ json: String = "{}", environment: [(name: String, value: String)] = []
    ) throws -> [String] {
        try EffectiveWords(
            line.split(separator: " ").map(String.init),
            settings: try DeviceSettings(text: json, path: "settings.json"),
            environment: environment, catalog: Self.catalog
        ).words
    }

    @Test func settingsComeBeforeTheCommandLine() throws {
        #expect(
            try words("sync a.json", #"{"jobs": 4, "netrc": true}"#)
                == ["sync", "--jobs", "4", "--netrc", "a.json"])
    }

    @Test(arguments: ["sync --jobs 2", "sync --jobs=2", "sync -j 2", "sync -vj 2"])
    func theCommandLineStandsAboveASetting(line: String) throws {
        #expect(
            try words(line, #"{"jobs": 4}"#) == line.split(separator: " ").map(String.init))
    }

    @Test func aWordBehindTwoDashesIsNoOption() throws {
        #expect(
            try words("sync -- --jobs", #"{"jobs": 4}"#) == ["sync", "--jobs", "4", "--", "--jobs"])
    }

    @Test func aVariableStandsAboveASetting() throws {
        #expect(
            try words("sync", #"{"min-free": "1GiB"}"#, environment: [("MIRROR_MIN_FREE", "2GiB")])
                == ["sync", "--min-free", "2GiB"])
    }

    @Test func aFlagIsPassedOrNot() throws {
        #expect(try words("sync", #"{"netrc": false}"#) == ["sync"])
        #expect(try words("sync", environment: [("MIRROR_NETRC", "1")]) == ["sync", "--netrc"])
        #expect(
            try words("sync", #"{"netrc": true}"#, environment: [("MIRROR_NETRC", "no")])
                == ["sync"])
    }

    @Test func aRepeatableOptionTakesAList() throws {
        #expect(
            try words("sync", #"{"only": ["a", "b"]}"#) == ["sync", "--only", "a", "--only", "b"])
        #expect(
            try words("sync", environment: [("MIRROR_ONLY", "a,b")])
                == ["sync", "--only", "a", "--only", "b"])
    }

    @Test func anOptionOfAnotherVerbIsLeftOut() throws {
        #expect(try words("status", #"{"jobs": 4}"#) == ["status"])
        #expect(try words("prune", #"{"quota": "5GiB"}"#) == ["prune"])
    }

    @Test func optionsGoBehindAllWordsOfAVerb() throws {
        #expect(
            try words("settings list", #"{"verbose": true}"#) == ["settings", "list", "--verbose"])
    }

    @Test(arguments: [
        #"{"jobbs": 4}"#, #"{"root": "/"}"#, #"{"help": true}"#, #"{"jobs": true}"#,
        #"{"jobs": ["1", "2"]}"#, #"{"netrc": "maybe"}"#, #"{"jobs": null}"#, #"{"jobs": {}}"#,
        "[]", "", #"{"jobs": 1, "jobs": 2}"#,
    ])
    func aSettingThatIsWrongIsRefused(json: String) {
        #expect(throws: ManifestError.self) { try words("sync", json) }
    }

    /// Others can write in the folder, and what they write must not run as this user.
    @Test(arguments: ["on-change", "log", "env", "listen"])
    func onlyOwnSettingsReachOutside(option: String) throws {
        let folder = try Folder.temporary()
        defer { folder.remove() }
        let path = folder.full("root/.mirror/settings.json")
        try folder.write("root/.mirror/settings.json", Array("{\"\(option)\": \"A\"}".utf8))
        let words = {
            try EffectiveWords(
                [option == "listen" ? "serve" : "sync"],
                settings: try DeviceSettings(ofRoot: folder.full("root")), environment: [],
                catalog: Self.catalog
            ).words
        }
        #expect(try words().contains("--" + option))
        #expect(chmod(path, 0o666) == 0)
        #expect(throws: ManifestError.self) { try words() }
    }

    @Test(arguments: [(256, true), (257, false)])
    func aLongListIsRefusedNotParsed(count: Int, isTaken: Bool) throws {
        let text = "{\"only\": [\((1...count).map { "\"t\($0)\"" }.joined(separator: ","))]}"
        let words = try? EffectiveWords(
            ["sync"], settings: try DeviceSettings(text: text, path: "settings.json"),
            environment: [], catalog: Self.catalog
        ).words
        #expect(words?.count == (isTaken ? 1 + 2 * count : nil))
    }

    @Test func theLastRootOfACommandLineCounts() {
        #expect(EffectiveWords.root(in: ["sync", "--root", "a", "--root=b", "m"]) == "b")
        #expect(EffectiveWords.root(in: ["sync", "--root", "a", "--", "--root", "b"]) == "a")
    }

    @Test func aVariableOfTheWrongKindIsRefused() {
        #expect(throws: MirrorError.self) {
            try words("sync", environment: [("MIRROR_NETRC", "maybe")])
        }
    }

    @Test func variablesOfOthersDoNotMatter() throws {
        #expect(try words("sync", environment: [("MIRROR_OTHER", "x")]) == ["sync"])
    }

    @Test func everyOptionOfEveryVerbIsKnownOnce() {
        let names = Self.catalog.options.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.contains("limit-rate"))
        #expect(!names.contains("root"))
        #expect(Self.catalog.verbs.count > 12)
    }
}
