import Testing

@testable import mirror

/// Other people's lines in a crontab, byte for byte.
@Suite struct CrontabTests {
    private static let mark =
        #"# mirror schedule {"name":"n","manager":"cron","every":60,"root":"/r","manifests":[]}"#
    private let lines = [mark, "* * * * * mirror sync", ScheduleUnits.endMark]

    @Test(arguments: [
        "", "# mine\n", "a\r\nb\r\n", "no line break at the end", "\n\n", "5 4 * * * x\n\n",
    ])
    func aCrontabIsRestoredAfterASchedule(text: String) {
        var table = Crontab(Array(text.utf8))
        table.add(lines)
        var later = Crontab(table.bytes)
        #expect(later.schedules.map(\.name) == ["n"])
        later.remove("n")
        let isClosed = text.isEmpty || text.utf8.last == UInt8(ascii: "\n")
        #expect(later.bytes == Array((text + (isClosed ? "" : "\n")).utf8))
    }

    @Test func bytesThatAreNoUTF8Stay() {
        let bytes: [UInt8] = [0x23, 0xE4, 0x0A]
        var table = Crontab(bytes)
        table.add(lines)
        table.remove("other")
        #expect(table.bytes.starts(with: bytes))
    }

    @Test(arguments: [
        mark + "\n5 4 * * * theirs\n", mark + "\n",
        mark + "\n* * * * * mirror sync\n5 4 * * * theirs\n",
        "# mirror schedule ends\n", "# mirror schedule {}\na\n# mirror schedule ends\n",
    ])
    func aMarkThatSomebodyCutIsTheirs(text: String) {
        var table = Crontab(Array(text.utf8))
        #expect(table.schedules.isEmpty)
        table.remove("n")
        #expect(table.bytes == Array(text.utf8))
    }
}
