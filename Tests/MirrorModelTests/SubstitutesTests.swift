import Testing

@testable import MirrorKit

@Suite struct SubstitutesTests {
    static let sha256 = String(repeating: "ab", count: 32)

    @Test(arguments: [
        ("http://store.example", "http://store.example/cas/"),
        ("http://store.example/", "http://store.example/cas/"),
        ("http://store.example/a/b/", "http://store.example/a/b/cas/"),
        ("https://store.example:8443/a", "https://store.example:8443/a/cas/"),
    ])
    func aStoreWithAURLHasFilesBySHA256(text: String, beginning: String) throws {
        let url = try #require(try Store(text).url)
        let digest = try Digest(.sha256, declared: Self.sha256)
        #expect(
            Store.address(of: digest, below: url).requestText == beginning + Self.sha256)
    }

    @Test(arguments: [
        ("/mnt/disk/", "/mnt/disk"), ("disk", "disk"), ("file:///mnt/a%20b/", "/mnt/a b"),
        ("/", "/"), ("a:b", "a:b"),
    ])
    func aPathIsAFolder(text: String, path: String) throws {
        let store = try Store(text)
        #expect(store.url == nil && store.place == path)
    }

    @Test(arguments: ["", "ftp://a/", "http://u:p@a/", "http://a/?q", "http://", "a\0b"])
    func otherTextsAreNoStores(text: String) {
        #expect(throws: MirrorError.self) { try Store(text) }
    }

    @Test(arguments: [
        ("https://a.example/=http://c/a/", "https://a.example/x/y?z", "http://c/a/x/y?z"),
        ("https://a.example=http://c", "https://a.example/x", "http://c/x"),
        ("https://a.example/p/=http://c/q", "https://a.example/p/x", "http://c/q/x"),
        ("https://a.example/p=http://c/q", "https://a.example/p2/x", "http://c/q2/x"),
        ("https://A.example:443/=http://c/", "https://a.example/x", "http://c/x"),
    ])
    func aRewriteReplacesTheBeginning(rule: String, url: String, place: String) throws {
        #expect(try Rewrite(rule).place(of: try SourceURL(url))?.requestText == place)
    }

    @Test(arguments: [
        ("https://a.example/=http://c/", "https://a.example.evil/x"),
        ("https://a.example/=http://c/", "http://a.example/x"),
        ("https://a.example/p/=http://c/", "https://a.example/q/x"),
    ])
    func otherURLsAreNotRewritten(rule: String, url: String) throws {
        #expect(try Rewrite(rule).place(of: try SourceURL(url)) == nil)
    }

    @Test(arguments: [
        "https://a.example/", "=http://c/", "https://a/=", "https://a/=c", "https://a/=https://a/",
        "file:///a=http://c/", "https://u:p@a/=http://c/", "https://a/?q=http://c/",
    ])
    func otherTextsAreNoRewrites(text: String) {
        #expect(throws: MirrorError.self) { try Rewrite(text) }
    }

    @Test func placesInFrontAreSparedFromBlame() throws {
        var machine = try Self.machine()
        #expect(TransferMachineTests.words(machine.begin()) == "store")
        let absent = machine.answered(
            TransferMachineTests.head(404), at: TransferMachineTests.now)
        #expect(TransferMachineTests.words(absent) == "a")
        #expect(absent.notice == nil && absent.failedPlace == nil)
        let action = machine.answered(
            TransferMachineTests.head(410), at: TransferMachineTests.now)
        guard case .fail(let error) = action.next else {
            Issue.record("no failure")
            return
        }
        #expect(error.status == 410 && error.tried == ["https://a.example/f"])
    }

    /// A store that fails makes way at once; it is asked again neither now nor after the wait.
    @Test func aPlaceInFrontIsNotWaitedFor() throws {
        var machine = try Self.machine()
        _ = machine.begin()
        let busy = machine.answered(
            TransferMachineTests.head(503, ("Retry-After", "2")), at: TransferMachineTests.now)
        #expect(TransferMachineTests.words(busy) == "a")
        #expect(busy.failedPlace?.isDown == false && busy.hostHold == nil)
        let lost = machine.interrupted(TransferMachineTests.lost, length: nil)
        #expect(TransferMachineTests.words(lost) == "wait 500")
        #expect(TransferMachineTests.words(machine.waited()) == "a")
    }

    /// The source of the manifest is asked cleanly, as if it were alone.
    @Test func wrongBytesOfAPlaceInFrontCostTheSourceNothing() throws {
        var machine = try Self.machine()
        _ = machine.begin()
        let wrong = try #require(TransferMachineTests.wrong)
        for expected in ["a", "a; Cache-Control: no-cache"] {
            _ = machine.answered(TransferMachineTests.whole, at: TransferMachineTests.now)
            _ = machine.bodyEnded(length: 10)
            let action = machine.checked(size: 10, digests: [wrong])
            #expect(TransferMachineTests.words(action) == expected)
            #expect(action.dropsPart)
        }
    }

    private static func machine() throws -> TransferMachine {
        var store = try TransferMachineTests.source("store")
        store.place = "https://store.example"
        let pin = try #require(TransferMachineTests.right)
        return TransferMachine(
            target: try Target("Caches/f"), sources: [store, try TransferMachineTests.source("a")],
            expectation: Expectation(digests: [pin]), jitter: { $0 })
    }
}
