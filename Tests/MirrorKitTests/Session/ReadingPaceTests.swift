import Testing

@testable import MirrorKit

struct ReadingPaceTests {
    @Test func aReaderRestsWhileManyEventsComeAndNotAfterAQuietRest() {
        var pace = ReadingPace()
        #expect(pace.rest(after: 1) == nil)
        // So many that a slow machine has seconds for them.
        #expect(pace.rest(after: 16_000) == ReadingPace.pause)
        #expect(pace.rest(after: 1) == ReadingPace.pause)
        pace.noteQuiet()
        #expect(pace.rest(after: 1) == nil)
    }
}
