import Testing

@testable import MirrorKit

/// The messages of inotify(7), as bytes.
@Suite struct FolderEventTests {
    private func read(_ bytes: [UInt8]) -> FolderEvent? {
        bytes.withUnsafeBytes { FolderEvent($0[...]) }
    }

    private let message: [UInt8] =
        [7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0] + Array("m.json".utf8)
        + Array(repeating: 0, count: 10)

    @Test func aMessageIsRead() throws {
        let event = try #require(read(message))
        #expect(event.watch == 7)
        #expect(event.name == "m.json")
        #expect(!event.isOverflow)
        #expect(event.length == 32)
    }

    @Test(arguments: [0, 1, 15, 16, 31])
    func aMessageThatIsCutShortIsNone(count: Int) {
        #expect(read(Array(message.prefix(count))) == nil)
    }

    @Test func lostMessagesAreSeen() throws {
        // IN_Q_OVERFLOW, with the watch -1 and no name.
        let bytes: [UInt8] = [255, 255, 255, 255, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        let event = try #require(read(bytes))
        #expect(event.isOverflow)
        #expect(event.length == 16)
    }
}
