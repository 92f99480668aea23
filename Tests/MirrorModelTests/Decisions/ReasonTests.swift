@testable import MirrorKit
import Testing

/// The words of a plan: codes that scripts rely on, and sentences for people.
@Suite struct ReasonTests {
    static func all() throws -> [Reason] {
        let digest = try Content.recorded.digest(.sha256)
        let tag = try #require(EntityTag("\"a\""))
        let target = try Target("Caches/b")
        let now = Instant(seconds: 0)
        return [
            .intact, .fresh(until: now), .touched, .unrecorded, .modeChanged(isExecutable: true),
            .ownedBefore(by: "m"), .ownedTogether(by: Owners(["a", "b"])), .proven, .missing,
            .refetchAsked,
            .digestChanged(from: digest, to: digest), .sizeChanged(from: 1, to: 2),
            .sourceChanged(to: SourceKey(text: "https://a.example/b")), .sourceUnknown,
            .due(.always, at: now), .drifted, .partAvailable(bytes: 1), .edited, .editedAndDue,
            .editedAndChanged, .untracked, .untrackedOfUnknownVersion, .unread,
            .unreadable, .obstructed(.folder), .sameBytesAt(target), .orphanHasBytes(target),
            .orphan(of: "m"), .confirmed, .entityTagChanged(from: tag, to: tag), .bytesChanged,
            .sameBytes, .unreachable(.offline),
            .requestShared(with: target),
        ]
    }

    @Test func codesAreDistinctWords() throws {
        let codes = try Self.all().map(\.code)
        #expect(Set(codes).count == codes.count)
        for code in codes {
            #expect(code.allSatisfy { $0 == "-" || ("a"..."z").contains($0) }, "\(code)")
            #expect(!code.isEmpty && code.first != "-" && code.last != "-")
        }
    }

    @Test func sentencesAreWordsForPeople() throws {
        for reason in try Self.all() {
            let text = reason.because
            #expect(text.count > 6 && text.count <= 100, "\(text)")
            #expect(!text.contains("!") && !text.contains("please"), "\(text)")
            #expect(!text.contains("successfully") && !text.contains("Optional("), "\(text)")
        }
    }

    @Test func anEntityTagThatChangedShowsBoth() throws {
        let (old, new) = (try #require(EntityTag("\"a\"")), try #require(EntityTag("\"b\"")))
        let reason = Reason.entityTagChanged(from: old, to: new)
        #expect(reason.code == "etag-changed")
        #expect(reason.because == "\"a\" is now \"b\"")
    }

    @Test(
        arguments: [
            (.expired(since: Instant(seconds: 0), lifetime: 600), "due: 3 h ago, max-age=600"),
            (.age(since: Instant(seconds: 0), lifetime: 21600), "due: 3 h ago, refresh=6h"),
            (.age(since: Instant(seconds: 10_800), lifetime: 90), "due: 0 s ago, refresh=90s"),
            (.expired(since: Instant(milliseconds: .min), lifetime: .min), "max-age=0"),
            (.always, "refresh=always"), (.asked, "every file"), (.noLifetime, "refresh=http"),
            (.clockWentBack, "in the future"),
        ] as [(DueCause, String)])
    func dueSaysSinceWhenAndByWhichRule(cause: DueCause, text: String) {
        let now = Instant(seconds: 10_800)
        #expect(Reason.due(cause, at: now).because.contains(text))
        let whole = Reason.dueWithoutValidator(cause, at: now)
        #expect(whole.code == "due")
        #expect(whole.because.contains(text) && whole.because.contains("fetched whole"))
    }

    @Test func digestsAreShownByAlgorithmAndFirstDigits() throws {
        let reason = Reason.digestChanged(
            from: try Content.recorded.digest(.sha256), to: try Content.another.digest(.sha512))
        #expect(
            reason.because
                == "the manifest wants sha512 b2b2b2b2…, sha256 a1a1a1a1… is there")
    }

    @Test func aSourcesQueryIsNeverShown() {
        let hash = String(repeating: "ab", count: 32)
        let key = SourceKey(text: "https://a.example/b?" + hash)
        let text = Reason.sourceChanged(to: key).because
        #expect(!text.contains(hash))
        #expect(text.hasSuffix("https://a.example/b"))
    }

    @Test func sizesAreInBytesAndPartsInUnits() {
        #expect(
            Reason.sizeChanged(from: .min, to: .max).because.contains("9223372036854775807 bytes"))
        #expect(Reason.partAvailable(bytes: .max).because.hasPrefix("8.0 EiB"))
    }

    @Test func freshForEverStillIsADate() {
        #expect(
            Reason.fresh(until: Instant(milliseconds: .max)).because
                == "fresh until 9999-12-31T23:59:59.999Z")
    }
}
