import Testing

@testable import mirror

@Suite struct ScheduleUnitsTests {
    @Test(arguments: [
        ("/srv/maps", "/srv/maps"), ("a b", "\"a b\""), ("", "\"\""), ("50%", "\"50%%\""),
        ("$HOME", "\"$$HOME\""), (#"a\b"c"#, #""a\\b\"c""#), (";", "\";\""), ("'", "\"'\""),
        ("ü", "\"ü\""), ("https://h.example/a?b=1", "\"https://h.example/a?b=1\""),
    ])
    func wordsOfAUnitAreQuotedForSystemd(word: String, quoted: String) {
        #expect(word.quotedForSystemd() == quoted)
    }

    @Test func noVariableIsReplacedInTheProgramsPath() {
        #expect("/opt/$x/mirror".quotedForSystemd(isProgram: true) == "\"/opt/$x/mirror\"")
    }

    @Test(arguments: [
        ("/srv/maps", "/srv/maps"), ("a b", "'a b'"), ("", "''"), ("50%", #"'50'\%''"#),
        ("it's", #"'it'\''s'"#), ("$HOME", "'$HOME'"),
    ])
    func crontabWordsAreQuotedForTheShell(word: String, quoted: String) {
        #expect(word.quotedForCron == quoted)
    }

    @Test(arguments: ["a\nb", "a\tb", "\u{7F}"])
    func controlCharactersFitInNeither(word: String) throws {
        #expect(word.quotedForSystemd() == nil)
        #expect(word.quotedForCron == nil)
        let units = try #require(makeUnits(root: word))
        #expect(units.service == nil)
        #expect(units.cron(offset: 0) == nil)
    }

    private func makeUnits(
        root: String = "/srv/maps", every: Int64 = 21_600, manager: Schedule.Manager = .user
    ) -> ScheduleUnits? {
        ScheduleUnits(
            Schedule(
                name: "mirror-maps-1", manager: manager, every: every, root: root,
                manifests: ["/etc/maps.json"]),
            words: ["/usr/bin/mirror", "sync", root, "/etc/maps.json"], jitter: nil)
    }

    @Test func aUnitStartsTheSyncOfItsRoot() throws {
        let service = try #require(makeUnits()?.service)
        #expect(service.contains("\nType=oneshot\n"))
        #expect(
            service.contains(
                "\nExecStart=/usr/bin/mirror sync /srv/maps /etc/maps.json\n"
            ))
        #expect(service.hasPrefix(ScheduleUnits.mark))
        #expect(!service.contains("ExecStartPre"))
    }

    @Test func onlyTheMachinesUnitsWaitForItsTarget() throws {
        for (manager, waits) in [(Schedule.Manager.system, true), (.user, false)] {
            var units = try #require(makeUnits(manager: manager))
            units.needsNetwork = true
            #expect(units.service?.contains("network-online.target") == waits)
        }
    }

    @Test func aCalendarTimerCatchesUpMissedRuns() throws {
        let timer = try #require(makeUnits()?.timer)
        #expect(timer.contains("\nOnCalendar=*-*-* 00/6:00:00\nPersistent=true\n"))
        #expect(timer.contains("\nRandomizedDelaySec=2160s\n"))
        let other = try #require(makeUnits(every: 25_200)?.timer)
        #expect(other.contains("\nOnStartupSec=2min\nOnUnitActiveSec=25200s\n"))
        #expect(!other.contains("Persistent"))
    }

    @Test(arguments: [
        ("/srv/maps", "mirror-maps-12345678"), ("/srv/Mäps 2/", "mirror-m-ps-2-12345678"),
        ("/", "mirror-root-12345678"),
    ])
    func aNameCanBeReadAndTyped(root: String, name: String) {
        #expect(Schedule.name(root: root, hash: "123456789abc") == name)
    }
}
