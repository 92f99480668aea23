import CSQLite
import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

private let start = Instant(milliseconds: 1_795_233_360_123)

/// A record with a value in every column.
func fullRecord(_ path: String, owner: String = "maps", bytes: [UInt8] = [1]) throws -> IndexRecord
{
    var record = IndexRecord(
        target: try Target(path), owner: owner,
        stamp: FileStamp(size: 1, modified: 2, changed: -3, inode: .max),
        sha256: ByteHasher.digest(.sha256, of: bytes), verified: .size, promotedAt: start)
    record.otherDigest = ByteHasher.digest(.sha512, of: bytes)
    record.provenance = Provenance(
        source: SourceKey(text: "https://a/b?00"), answeredBy: "https://c/d")
    let tag = try #require(EntityTag("\"v1\""))
    record.validators = Validators(
        entityTag: tag, lastModified: HTTPDate(seconds: 7), strong: .entityTag(tag))
    record.mediaType = "text/plain"
    record.confirmedAt = start.advanced(bySeconds: 5)
    record.freshUntil = start.advanced(bySeconds: 60)
    record.isExecutable = true
    return record
}

extension Index {
    /// Writes rows in one transaction.
    func put(_ records: [IndexRecord]) throws {
        try write { (batch: inout Database) throws(IndexError) in
            for record in records { try batch.put(record) }
        }
    }
}

/// Tests of the index in a folder.
protocol IndexSuite {
    var folder: TemporaryFolder { get }
}

extension IndexSuite {
    func open() throws -> Index {
        try Index.open(try RootDirectory(opening: folder.path), now: start)
    }

    func paths(_ index: Index) throws -> [String] {
        var cursor = try index.projectionCursor(from: "")
        var paths: [String] = []
        while try cursor.next() { paths.append(try cursor.wholeRecord().target.path) }
        return paths
    }
}

@Suite struct IndexTests: IndexSuite {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func aRecordComesBackAsItWasPut() throws {
        let index = try open()
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(record)
        }
        let (found, owned) = try index.read {
            (database: inout Database) throws(IndexError) in
            (
                try database.record(for: record.target),
                try database.records(ownedBy: "maps")
            )
        }
        #expect(found == record)
        #expect(owned == [record])
    }

    /// In no order, some twice, and some that are not there.
    @Test(arguments: [0, 1, 50])
    func recordsOfTargetsComeInListOrder(count: Int) throws {
        let index = try open()
        var wanted: [IndexRecord?] = []
        var targets: [Target] = []
        for number in 0..<count {
            let record = try fullRecord("Caches/\(number * 7 % 20)", bytes: [UInt8(number % 20)])
            targets.append(record.target)
            let isThere = number * 7 % 20 % 3 > 0
            if isThere {
                try index.write { (batch: inout Database) throws(IndexError) in
                    try batch.put(record)
                }
            }
            wanted.append(isThere ? record : nil)
        }
        #expect(try index.records(for: targets) == wanted)
    }

    @Test func recordsComeInByteOrder() throws {
        let index = try open()
        let names = [
            "Caches/é", "Caches/e\u{301}", "Caches/a/b", "Caches/a-b", "Documents/a", "Caches/B",
        ]
        for name in names {
            let record = try fullRecord(name)
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.put(record)
            }
        }
        let expected = try names.map { try Target($0) }.sorted()
        #expect(try paths(index).map { Array($0.utf8) } == expected.map { Array($0.path.utf8) })
    }

    @Test func aFailedTransactionWritesNothing() throws {
        let index = try open()
        let record = try fullRecord("Documents/a")
        #expect(throws: IndexError.self) {
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.put(record)
                throw IndexError.database(code: 1, words: "made up")
            }
        }
        #expect(try paths(index).isEmpty)
    }

    @Test func onlyTheDatabaseFileStaysAfterClosing() throws {
        let index = try open()
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(record)
        }
        try index.close()
        #expect(folder.names(in: ".mirror") == ["index.sqlite"])
        let again = try open()
        #expect(try paths(again) == ["Documents/a"])
        #expect(again.notice == nil)
    }

    @Test func readerSeesTheRowsAndLeavesNoFile() throws {
        let writer = try open()
        let record = try fullRecord("Documents/a")
        try writer.write { (batch: inout Database) throws(IndexError) in
            try batch.put(record)
        }
        let root = try RootDirectory(opening: folder.path)
        let during = try Index.openForReading(root)
        #expect(try paths(during) == ["Documents/a"])
        try during.close()
        try writer.close()
        let after = try Index.openForReading(root)
        #expect(try paths(after) == ["Documents/a"])
        try after.close()
        #expect(folder.names(in: ".mirror") == ["index.sqlite"])
    }

    @Test func readersOfARootWithoutIndexMakeNothing() throws {
        let index = try Index.openForReading(try RootDirectory(opening: folder.path))
        #expect(try paths(index).isEmpty)
        #expect(folder.names().isEmpty)
    }

    @Test func theNextReaderRemovesAKilledReadersCopy() throws {
        try open().close()
        let root = try RootDirectory(opening: folder.path)
        let temporary = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let left = "\(temporary)/.index-copy-\(randomHex(4))"
        try #require(mkdir(left, 0o700) == 0)
        try #require(creat(left + "/index.sqlite", 0o600) >= 0)
        let copy = try PrivateCopy.make(from: root.openFolder(".mirror"), path: "/nowhere")
        #expect(copy.path.hasPrefix(temporary + "/.index-copy-"))
        #expect(access(left, F_OK) != 0)
    }

    @Test func anIndexThatCannotBeLockedStaysClosed() throws {
        let index = try open()
        let error = IndexError(code: SQLITE_PROTOCOL, words: "locking protocol")
        #expect(throws: error) {
            try index.read { (_: inout Database) throws(IndexError) in throw error }
        }
        #expect(throws: error) {
            try index.write { (_: inout Database) throws(IndexError) in Issue.record("asked") }
        }
        #expect(throws: error.mirrorError(in: ".mirror")) { try paths(index) }
        try index.close()
        #expect(try open().notice == nil)
    }

    /// A second flush after one that failed would seem to succeed.
    @Test func aFailedFlushEndsTheIndex() throws {
        let index = try open()
        let errno = Errno(number: EIO, call: "fdatasync", path: ".mirror/index.sqlite")
        #expect(throws: IndexError.unflushed(errno)) {
            try index.write(durably: true) { (_: inout Database) throws(IndexError) in
                throw IndexError.unflushed(errno)
            }
        }
        #expect(throws: IndexError.unflushed(errno)) { try index.put([]) }
    }

    @Test(arguments: [true, false])
    func aNewerIndexIsRefusedUntouched(withLog: Bool) throws {
        let index = try open()
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.run("PRAGMA user_version = \(Schema.version + 1)")
        }
        if withLog {
            // What a crash leaves: the files as they are now, without the connection.
            let crashed = try TemporaryFolder()
            for suffix in ["", "-wal"] {
                let name = ".mirror/index.sqlite" + suffix
                try crashed.write(try #require(folder.bytes(of: name)), to: name)
            }
            try expectRefusal(in: crashed)
        }
        try index.close()
        try expectRefusal(in: folder)
    }

    private func expectRefusal(in folder: TemporaryFolder) throws {
        let names = folder.names(in: ".mirror")
        let before = names.map { folder.bytes(of: ".mirror/" + $0) }
        let root = try RootDirectory(opening: folder.path)
        let writing = #expect(throws: MirrorError.self) { try Index.open(root, now: start) }
        #expect(writing?.code == .indexNewer)
        let reading = #expect(throws: MirrorError.self) { try Index.openForReading(root) }
        #expect(reading?.code == .indexNewer)
        #expect(folder.names(in: ".mirror") == names)
        #expect(names.map { folder.bytes(of: ".mirror/" + $0) } == before)
    }

    @Test func aCrashedIndexKeepsItsCommits() throws {
        let index = try open()
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(record)
        }
        let crashed = try TemporaryFolder()
        for suffix in ["", "-wal"] {
            let name = ".mirror/index.sqlite" + suffix
            try crashed.write(try #require(folder.bytes(of: name)), to: name)
        }
        let root = try RootDirectory(opening: crashed.path)
        #expect(try paths(try Index.openForReading(root)) == ["Documents/a"])
        #expect(try paths(try Index.open(root, now: start)) == ["Documents/a"])
    }

    @Test func manifestsRunsAndServerNamesComeBack() throws {
        let index = try open()
        var manifest = ManifestRecord(
            name: "m", place: .url(SourceKey(text: "https://a/m.json")))
        manifest.copyName = "m.json"
        manifest.stamp = FileStamp(size: 1, modified: 2, changed: 3, inode: .max)
        manifest.resources = 7
        manifest.copyDigest = ByteHasher.digest(.sha256, of: [])
        manifest.syncedAt = start
        let remembered = manifest
        let run = RunRecord(id: "01J", startedAt: start, endedAt: nil, exit: nil, summary: nil)
        let target = try Target("Caches/x/given.zip")
        let key = ServerNameKey(
            owner: "m", folder: "Caches/x", source: try SourceURL("https://a/u?id=1"))
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(remembered)
            try batch.put(run)
            try batch.fixServerName(target, for: key)
        }
        try index.read { (database: inout Database) throws(IndexError) in
            #expect(try database.manifests() == [remembered])
            #expect(try database.runs() == [run])
            #expect(try database.serverName(of: key) == target)
        }
    }

    @Test(.enabled(if: SmallFileSystem.isPossible), arguments: [true, false])
    func aReaderWorksOnAReadOnlyMedium(withLog: Bool) throws {
        let disk = try SmallFileSystem(bytes: 8 << 20)
        let path = disk.folder.path
        let index = try open()
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(record)
        }
        if !withLog { try index.close() }
        for name in folder.names(in: ".mirror") where !name.hasSuffix("-shm") {
            try disk.folder.write(
                ".mirror/" + name, try #require(folder.bytes(of: ".mirror/" + name)))
        }
        let remount = try #require(popen("mount -o remount,ro '\(path)'", "w"))
        #expect(pclose(remount) == 0)
        let reader = try Index.openForReading(try RootDirectory(opening: path))
        #expect(try paths(reader) == ["Documents/a"])
        try reader.close()
    }
}
