import Testing

@testable import MirrorKit

@Suite struct ResourceTableTests {
    /// A resource that says everything that can be said.
    private func richResource() throws -> Resource {
        var resource = Resource(
            target: try Target("Documents/é/b.bin"),
            url: try SourceURL("https://u:p@h:8443/é/b.bin?x=/b.bin"),
            headers: [try HeaderField(name: "Accept", value: Template(literal: "*/*"))])
        resource.mirrors.append(Source(url: try SourceURL("https://eu.example/b.bin")))
        resource.isNamedByServer = true
        resource.size = 12
        resource.digests = [.sha512, .sha256].compactMap {
            Digest($0, bytes: Array(repeating: 7, count: $0.byteCount))
        }
        resource.pieces = Pieces(length: 6, packed: Array(repeating: 9, count: 64))
        resource.mediaType = MediaRange("text/plain")
        resource.refresh = .after(.seconds(60))
        resource.method = .post(body: try Template("a=${B}"))
        resource.priority = -3
        resource.isExecutable = true
        resource.isOptional = true
        resource.isUrgent = true
        resource.tags = ["x", "y"]
        resource.line = 4
        resource.column = 7
        return resource
    }

    @Test func resourceTableReturnsWhatWasAdded() throws {
        var plain = Resource(
            target: try Target("Caches/a"), url: try SourceURL("https://h/z/Caches/a"))
        var pinned = plain
        pinned.digests = [Digest(.sha256, bytes: Array(repeating: 1, count: 32))].compactMap(\.self)
        pinned.size = .max
        plain.size = 0
        let file = Resource(target: try Target("tmp/q"), url: try SourceURL("file:///q"))
        let rich = try richResource()
        let all = [plain, rich, pinned, file]
        let table = ResourceTable(all)
        #expect(Array(table) == all)
        #expect(table.target(at: 1) == rich.target)
        #expect(table.place(at: 1) == (4, 7))
    }

    @Test func resourceTableReturnsLongURLs() throws {
        let long = "https://h/" + String(repeating: "a", count: 9000)
        let resource = Resource(target: try Target("Caches/x"), url: try SourceURL(long))
        #expect(Array(ResourceTable([resource])) == [resource])
    }

    @Test func resourceTableReturnsManyOrigins() throws {
        let resources = try (0..<65_540).map { number in
            Resource(
                target: try Target("Caches/\(number)"), url: try SourceURL("https://h\(number)/x"),
                headers: [try HeaderField(name: "X-N", value: Template(literal: "\(number)"))])
        }
        let table = ResourceTable(resources)
        #expect(table[65_539] == resources[65_539])
        #expect(table[65_536] == resources[65_536])
        #expect(table[3] == resources[3])
    }

    @Test func aPinnedResourceTakesAtMost150Bytes() throws {
        var table = ResourceTable()
        let count = 100_000
        for number in 0..<count {
            let digits = String(10_000_000 + number)
            // A path of 40 bytes and a URL of 60, which have the file name in common.
            var resource = Resource(
                target: try Target("Documents/archive/2026/images/x\(digits)f"),
                url: try SourceURL("https://origin.example/storage/blobs/by-number/x\(digits)f"))
            resource.size = Int64(number)
            resource.digests = [Digest(.sha256, bytes: Array(repeating: 1, count: 32))].compactMap(
                \.self)
            table.append(resource)
        }
        #expect(table.footprint / count <= 150)
    }

    @Test func theOrderIsThatOfTheBytes() throws {
        let paths = [
            "tmp/b", "Caches/b/c", "Caches/b-c", "Caches/b", "Documents/é", "Documents/z",
            "Caches/a",
            "Caches/aaaaaaaaaaaaaaaaaaaaab", "Caches/aaaaaaaaaaaaaaaaaaaaaa",
        ]
        let url = try SourceURL("https://h/x")
        let table = ResourceTable(try paths.map { Resource(target: try Target($0), url: url) })
        #expect(
            table.sortedOrder.map { table.target(at: $0) }
                == (try paths.map { try Target($0) }.sorted()))
        #expect(ResourceTable().sortedOrder.isEmpty)
    }

    @Test func aRememberedOrderLastsUntilAChange() throws {
        let url = try SourceURL("https://h/x")
        for names in [["b", "a", "c"], ["a", "b", "c"]] {
            var table = ResourceTable(
                try names.map { Resource(target: try Target("Caches/\($0)"), url: url) })
            let order = Array(table.sortedOrder)
            table.rememberOrder()
            #expect(Array(table.sortedOrder) == order)
            let copy = table
            table.append(Resource(target: try Target("Caches/0"), url: url))
            #expect(table.sortedOrder.map { table.target(at: $0).name } == ["0", "a", "b", "c"])
            #expect(copy.sortedOrder.map { copy.target(at: $0).name } == ["a", "b", "c"])
        }
    }

    @Test func appendingDoesNotChangeACopy() throws {
        let url = try SourceURL("https://h/x")
        let one = ResourceTable([Resource(target: try Target("Caches/a"), url: url)])
        var two = one
        two.append(Resource(target: try Target("Caches/b"), url: url))
        #expect(one.count == 1)
        #expect(two.map(\.target.name) == ["a", "b"])
    }
}
