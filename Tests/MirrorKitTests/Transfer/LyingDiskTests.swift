import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit
@testable import MirrorParts
@testable import MirrorStore
@testable import MirrorSystem
@testable import MirrorTransfer
@testable import MirrorModel

/// A disk that says that it wrote and did not; /dev/null is one.
@Suite(.timeLimit(.minutes(15))) struct LyingDiskTests {
    /// Keeps rows as they should be, and bytes nowhere.
    private struct LyingStore: PartStore {
        let honest: TreePartStore

        func create(_ record: PartRecord) throws(MirrorError) -> PartFile {
            _ = try honest.create(record)
            return PartFile(name: record.name, descriptor: Glibc.open("/dev/null", O_RDWR))
        }

        func open(_ record: PartRecord) throws(MirrorError) -> PartFile? {
            try honest.open(record)
        }

        func update(_ record: PartRecord) throws(MirrorError) { try honest.update(record) }

        func log(_ milestone: Milestone, from start: Int64, part name: String) throws(MirrorError) {
            try honest.log(milestone, from: start, part: name)
        }

        func discard(part name: String) throws(MirrorError) { try honest.discard(part: name) }
    }

    @Test(arguments: [true, false])
    func bytesThatAPartDoesNotHoldAreNotReceived(isPinned: Bool) async throws {
        let bytes = TestBytes.make(900_000, seed: 1)
        let shelf = MemoryShelf()
        shelf.put("/f", bytes)
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer { server.stop() }
        let rig = try TransferRig()
        let (results, continuation) = AsyncStream.makeStream(of: TransferResult.self)
        let register = RunRegister()
        let loop = try TransferLoop(
            configuration: Configuration(), parts: LyingStore(honest: rig.store),
            observer: register)
        let reader = try RigReader(register) { _, event in
            if case .ended(let result) = event { continuation.yield(result) }
        }
        let expectation = Expectation(
            digests: isPinned ? [ByteHasher.digest(.sha256, of: bytes)] : [])
        loop.submit([try .fetching(server.url + "/f", expectation: expectation)])
        var ended: TransferResult?
        for await result in results {
            ended = result
            break
        }
        loop.stop()
        reader.stop()
        #expect(ended?.error?.code == .inputOutput)
        #expect(ended?.error?.message.contains("does not hold what was written") == true)
        // Nothing is vouched for that is not there.
        let records = try rig.records(try Target("Caches/f.bin"))
        #expect(records.allSatisfy { $0.milestones.isEmpty })
    }

    @Test func bytesOfASmallFileAreReadBack() throws {
        let file = Descriptor(owning: open("/dev/null", O_RDWR))
        #expect(throws: Errno(number: EBADMSG, call: "pwrite", path: "f")) {
            try file.writeConfirmed([1, 2, 3], path: "f")
        }
        let folder = try TemporaryFolder()
        try folder.write("", to: "f")
        let honest = Descriptor(owning: open(folder.path + "/f", O_RDWR))
        try honest.writeConfirmed([1, 2, 3], path: "f")
        try honest.writeConfirmed([], path: "f")
        #expect(folder.bytes(of: "f") == [1, 2, 3])
    }

    @Test func lyingDiskWithOtherBytesIsNotConfirmed() throws {
        let folder = try TemporaryFolder()
        try folder.write([1, 2, 3, 4], to: "f")
        let file = PartFile(name: "f", descriptor: open(folder.path + "/f", O_RDWR))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 8)
        defer { buffer.deallocate() }
        func confirm(_ bytes: [UInt8], at offset: Int64) throws {
            try bytes.withUnsafeBytes { try file.confirm($0, at: offset, with: buffer) }
        }
        try confirm([2, 3], at: 1)
        #expect(throws: Errno.self) { try confirm([2, 4], at: 1) }
        #expect(throws: Errno.self) { try confirm([4, 5], at: 3) }
    }
}
