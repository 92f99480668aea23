import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// A disk that says that it wrote and did not; /dev/null is one.
@Suite(.timeLimit(.minutes(15))) struct LyingDiskTests {
    @Test(arguments: [true, false])
    func bytesThatThePartLacksAreNotReceived(isPinned: Bool) async throws {
        let bytes = TestBytes.make(900_000, seed: 1)
        let shelf = MemoryShelf()
        shelf.put("/f", bytes)
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer { server.stop() }
        // Rows are kept as they should be, and bytes nowhere.
        let rig = try TransferRig(parts: { store in
            AdaptedParts(
                store: store,
                file: { PartFile(name: $0.name, descriptor: Glibc.open("/dev/null", O_RDWR)) })
        })
        let expectation = Expectation(
            digests: isPinned ? [ByteHasher.digest(.sha256, of: bytes)] : [])
        let ended = await rig.run(
            try .fetching(server.url + "/f", expectation: expectation))
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
