import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// What other programs do to a set's folder while mirror exchanges it for a new one.
@Suite struct FolderExchangeTests {
    typealias Ground = SetGround
    typealias Way = SetGround.Way

    /// Promotes the new set; `body` happens at a step, and has the old folder open.
    private func exchange(
        _ ground: Ground, at step: PromotionStep, _ body: @escaping @Sendable (Int32) -> Void
    ) async throws -> SetResult.Promoted {
        let old = open(ground.folder.path + "/" + ground.way.rawValue, O_RDONLY | O_DIRECTORY)
        defer { close(old) }
        let probe = PromotionProbe(goesOn: { reached in
            if reached == step { body(old) }
            return true
        })
        let promoted = try #require(try await ground.promote(probe).promoted)
        #expect(promoted.way == .exchange)
        return promoted
    }

    /// A program that has the folder open writes into it below its new name.
    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func newcomersInTheOldFolderKeepTheirNames(way: Way) async throws {
        let ground = try await Ground(way)
        let promoted = try await exchange(ground, at: .exchangedFolder) { old in
            mkdirat(old, "notes", 0o755)
            for name in ["late", "notes/late"] {
                close(openat(old, name, O_CREAT | O_WRONLY, 0o644))
            }
        }
        var expected = Ground.new
        (expected["late"], expected["notes/late"]) = ("", "")
        #expect(ground.texts() == expected)
        #expect(promoted.kept == [])
        #expect(ground.leftovers == [])
    }

    @Test func anOldFolderThatStaysIsReported() async throws {
        let ground = try await Ground(.exchange)
        let promoted = try await exchange(ground, at: .exchangedFolder) { old in
            // Its name is not UTF-8, and mirror cannot write it.
            close(openat(old, [CChar(bitPattern: 0xFF), 0], O_CREAT | O_WRONLY, 0o644))
        }
        #expect(ground.texts() == Ground.new)
        #expect(promoted.kept.count == 1)
        #expect(promoted.kept.allSatisfy { $0.hasPrefix("tmp/") })
    }

    /// The new folder has the file under the name that it had when the folder was built.
    @Test func aFileRenamedBeforeTheExchangeStays() async throws {
        let ground = try await Ground(.exchange)
        _ = try await exchange(ground, at: .committed) { old in
            renameat(old, "same", old, "moved")
        }
        var expected = Ground.new
        expected["moved"] = "same"
        #expect(ground.texts() == expected)
        #expect(ground.leftovers == [])
    }

    /// The new folder is made of the folders that are there, so one that is gone would leave files out.
    @Test func aFolderGoneBeforeTheBuildOmitsNothing() async throws {
        let ground = try await Ground(.exchange)
        let deep = ground.folder.path + "/" + ground.path("deep")
        let probe = PromotionProbe(goesOn: { step in
            if step == .intended { rmdir(deep) }
            return true
        })
        #expect(try await ground.promote(probe).promoted?.way == .rename)
        #expect(ground.texts() == SetGround.new)
        #expect(ground.leftovers == [])
    }
}
