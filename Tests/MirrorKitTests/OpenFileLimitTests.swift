import Testing

@testable import MirrorKit

@Suite struct OpenFileLimitTests {
    @Test func fewDescriptorsAreFewTransfers() {
        let found = [0, 24, 39, 64, 72, 95, 96, 1024].map {
            Descriptor.transfers(wanted: 16, limit: $0)
        }
        #expect(found == [1, 1, 1, 8, 10, 15, 16, 16])
    }

    @Test func fewDescriptorsAreFewConnections() {
        let found = [0, 24, 48, 51, 52, 64, 1024, 2095, 2096, 524_288].map {
            Descriptor.connections(wanted: 1024, limit: $0)
        }
        #expect(found == [1, 1, 1, 1, 2, 8, 488, 1023, 1024, 1024])
    }

    @Test func onlyFewerAreSpokenOf() {
        #expect(Descriptor.limitNotice(wanted: 16, limit: 1024) == nil)
        let words = Descriptor.limitNotice(wanted: 16, limit: 64)
        #expect(
            words
                == "This process may have 64 files open, so 8 transfers run at once instead of 16. `ulimit -n` raises that."
        )
        #expect(
            Descriptor.limitNotice(wanted: 16, limit: 38)?.contains("1 transfer runs") == true)
    }
}
