@testable import MirrorKit
import Testing

@Suite struct AddressScopeTests {
    @Test(
        arguments: [
            ([8, 8, 8, 8], true), ([1, 1, 1, 1], true), ([127, 0, 0, 1], false),
            ([10, 1, 2, 3], false),
            ([172, 15, 0, 1], true), ([172, 16, 0, 1], false), ([172, 31, 9, 9], false),
            ([192, 168, 1, 1], false), ([169, 254, 169, 254], false), ([100, 64, 0, 1], false),
            ([100, 63, 0, 1], true), ([0, 0, 0, 0], false), ([224, 0, 0, 1], false),
            ([255, 255, 255, 255], false), ([198, 18, 0, 1], false), ([192, 0, 2, 1], false),
            ([], false), ([1, 2, 3], false),
        ] as [([UInt8], Bool)])
    func ipv4AddressesHaveTheirScope(address: [UInt8], isPublic: Bool) {
        #expect(Host.isPublic(address) == isPublic)
    }

    private func v6(_ prefix: [UInt8], _ suffix: [UInt8]) -> [UInt8] {
        prefix + Array(repeating: 0, count: 16 - prefix.count - suffix.count) + suffix
    }

    @Test(
        arguments: [
            ([0x26, 0x06, 0x47, 0], [0x11, 0x11], true), ([], [1], false), ([], [], false),
            ([0xFE, 0x80], [1], false), ([0xFC, 0], [1], false), ([0xFD, 1], [1], false),
            ([0xFF, 2], [1], false), ([0x20, 1, 0x0D, 0xB8], [1], false),
            ([0x20, 1, 0, 0], [1], false), ([0x20, 1, 0x48, 0x60], [1], true),
            ([], [0xFF, 0xFF, 127, 0, 0, 1], false), ([], [0xFF, 0xFF, 8, 8, 8, 8], true),
            ([0, 0x64, 0xFF, 0x9B], [10, 0, 0, 1], false),
            ([0, 0x64, 0xFF, 0x9B], [8, 8, 8, 8], true),
            ([0x20, 2, 192, 168, 0, 1], [1], false),
        ] as [([UInt8], [UInt8], Bool)])
    func ipv6AddressesHaveTheirScope(prefix: [UInt8], suffix: [UInt8], isPublic: Bool) {
        #expect(Host.isPublic(v6(prefix, suffix)) == isPublic)
    }
}
