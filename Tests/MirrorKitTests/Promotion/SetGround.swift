import CTestSupport
import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// A tree with an old set in it, and the promotion of a new one.
struct SetGround {
    /// The old set and the new one: a file that changes, one that stays, one that comes, one that goes.
    static let old = ["a": "old a", "same": "same", "gone": "gone"]
    static let new = ["a": "new a!", "same": "same", "deep/b": "new b"]

    /// How the set lies: in a folder of its own, or renamed file by file, in either area.
    enum Way: String, CaseIterable, Sendable {
        case exchange = "Caches/set"
        case exchangeInDocuments = "Documents/set"
        case rename = "Caches/plain"
        case renameInDocuments = "Documents/plain"

        var isExchange: Bool { self == .exchange || self == .exchangeInDocuments }
    }

    let folder: TemporaryFolder
    let way: Way

    init(_ way: Way) async throws {
        folder = try TemporaryFolder()
        self.way = way
        let tree = try PromotionTree(folder)
        for (name, text) in SetGround.old { try await tree.put(path(name), text) }
        await tree.promoter.stop()
    }

    func path(_ name: String) -> String { "\(way.rawValue)/\(name)" }

    func inode(of name: String) throws -> UInt64 {
        let path = path(name)
        return try RootDirectory(opening: folder.path).openFile(path).status(path: path).stamp
            .inode
    }

    func mode(of name: String) throws -> UInt16 {
        let path = path(name)
        return try RootDirectory(opening: folder.path).openFolder(path).status(path: path).mode
    }

    /// The names and texts in the set's folder.
    func texts() -> [String: String] {
        let prefix = way.rawValue + "/"
        var texts: [String: String] = [:]
        for name in folder.names() where name.hasPrefix(prefix) {
            texts[String(name.dropFirst(prefix.count))] = folder.text(of: name)
        }
        return texts
    }

    /// The promotion of the new set, on a tree.
    func set(_ tree: PromotionTree) throws -> SetContents {
        let names = ["a", "deep/b"]
        let promotions = try names.enumerated().map { position, name in
            (
                position: position,
                promotion: try tree.promotionOfPart(path(name), SetGround.new[name] ?? "")
            )
        }
        let gone = Removal(
            target: try Target(path("gone")), stamp: try tree.record(path("gone"))?.stamp)
        return SetContents(
            number: 0,
            set: .init(owners: ["m"], folder: way.isExchange ? way.rawValue : nil),
            promotions: promotions, removals: [(2, gone)])
    }

    /// Promotes a set of new files, whose texts are their paths.
    func promoteMany(_ paths: [String], _ probe: PromotionProbe) async throws {
        let tree = try PromotionTree(folder, probe)
        let promotions = try paths.enumerated().map { position, path in
            (position: position, promotion: try tree.promotionOfPart(path, path))
        }
        _ = await promote(
            SetContents(
                number: 0, set: .init(owners: ["m"], folder: nil), promotions: promotions,
                removals: []), on: tree)
        try tree.index.close()
    }

    /// Promotes the new set, with what a test wants to happen.
    func promote(
        _ probe: PromotionProbe = PromotionProbe(), asOwner: Bool = false,
        before: (SetContents) throws -> Void = { _ in }
    ) async throws -> SetResult {
        let tree = try PromotionTree(folder, probe)
        let set = try set(tree)
        try before(set)
        let result = await promote(set, on: tree, asOwner: asOwner)
        try tree.index.close()
        return result
    }

    private func promote(
        _ set: SetContents, on tree: PromotionTree, asOwner: Bool = false
    ) async -> SetResult {
        let result = await withCheckedContinuation { continuation in
            let listener = PromotionListener { results in
                for case .setEnded(_, let result) in results {
                    continuation.resume(returning: result)
                }
            }
            let work = PromotionWork(task: .promoteSet(set), number: 0, receiver: listener)
            // Its thread begins here, with the rights of this one.
            do {
                let submit = { tree.promoter.submit([work]) }
                try asOwner ? Privileges.withoutOverride(submit) : submit()
            } catch {
                Issue.record(error)
                tree.promoter.submit([work])
            }
        }
        await tree.promoter.stop()
        return result
    }

    /// Opens the tree as the next run does.
    func recover(
        asOwner: Bool = false, _ probe: PromotionProbe = PromotionProbe()
    ) throws -> (tree: PromotionTree, settled: Recovery.Settled) {
        let tree = try PromotionTree(folder)
        let settle = {
            try Recovery.settle(tree.root, tree.index, now: PromotionTree.time, probe: probe)
        }
        return (tree, try asOwner ? Privileges.withoutOverride(settle) : settle())
    }

    /// As `recover`, for a run that ends at once.
    func recovered(asOwner: Bool = false) async throws -> Recovery.Settled {
        let (tree, settled) = try recover(asOwner: asOwner)
        if settled.unfinishedSets.isEmpty { try expectSettled(tree) }
        await tree.promoter.stop()
        try tree.index.close()
        return settled
    }

    /// Nothing is left of a promotion, and each row is that of the file that is there.
    func expectSettled(_ tree: PromotionTree) throws {
        #expect(try tree.intents().isEmpty)
        let sets = try tree.index.read { (database: inout Database) throws(IndexError) in
            try database.journals()
        }
        #expect(sets.isEmpty)
        for name in ["a", "same", "deep/b", "gone"] {
            let read = try FileDigests.read(try Target(path(name)), in: tree.root)
            #expect(try tree.record(path(name))?.sha256 == read?.digests.first, "\(name)")
        }
    }

    var leftovers: [String] {
        folder.names().filter { !$0.hasPrefix(".mirror/") && !$0.hasPrefix(way.rawValue) }
    }
}

/// The rights of root, of which the owner of a file has none.
enum Privileges {
    /// Runs a body on a thread, and what it starts, as a mere owner of the files (capabilities(7)).
    static func withoutOverride<Value>(_ body: () throws -> Value) throws -> Value {
        let number = test_override(false)
        guard number == 0 else { throw Errno(number: number, call: "capset", path: "") }
        defer { _ = test_override(true) }
        return try body()
    }
}

extension SetResult {
    /// What became of a set that was promoted.
    var promoted: Promoted? { if case .promoted(let promoted) = self { promoted } else { nil } }

    /// Why a set was left.
    var causes: [Int: MirrorError]? { if case .left(let causes) = self { causes } else { nil } }

    /// What stopped a set in its middle.
    var stopped: MirrorError? { if case .unfinished(let error) = self { error } else { nil } }
}
