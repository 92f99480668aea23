import MirrorKit
import MirrorTestSupport
import Testing

// What docs/library.md shows is compiled here, line by line.

private actor Tokens {
    func current(for origin: Origin) async throws -> String { origin.description }
}

private func show(_ target: Target, _ bytes: Int64, of size: Int64?) {}
private func show(_ totals: RunTotals) {}
private func hide(_ target: Target) {}
private func offerToClearCaches() {}

private func credentials(_ session: MirrorSession, _ plan: Plan, _ tokens: Tokens) -> Run {
    var options = RunOptions()
    options.credentials = { origin in
        let token = try await tokens.current(for: origin)
        return [try HeaderField("Authorization", "Bearer \(token)")]
    }
    let run = session.execute(plan, options: options)
    return run
}

private func progress(_ session: MirrorSession, _ plan: Plan) async throws {
    for try await event in session.execute(plan) {
        switch event.body {
        case .start(let start): show(start.target, start.offset, of: start.size)
        case .progress(let progress):
            show(progress.target, progress.bytes, of: progress.size)
            show(event.totals)
        case .done(let done): hide(done.target)
        case .failed(let failed): hide(failed.target)
        default: break
        }
    }
}

private func steering(_ session: MirrorSession, _ target: Target) async {
    await session.pause(target)
    await session.resume(target)
    await session.cancel(target, discardingPart: true)
    await session.pauseAll()
    await session.resumeAll()
    await session.cancelAll()
}

private func errors(_ session: MirrorSession, _ manifest: Manifest) async throws {
    do {
        let summary = try await session.sync(manifest)
        print("\(summary[.fetched]) fetched")
    } catch let refusal as ManifestError {
        for diagnostic in refusal.diagnostics { print(diagnostic) }
    } catch let error as MirrorError {
        switch error.code {
        case .locked: print("another run is at it")
        case .noSpace, .spaceLimit: print("the disk is full")
        default: print(error.message)
        }
        if error.remedy?.kind == .freeSpace { offerToClearCaches() }
    }
}

/// The page about the library shows nothing that does not compile.
@Suite struct LibraryPageTests {
    @Test func everyLineOfThePageIsCompiled() throws {
        let root = Folder(#filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined())
        func lines(_ text: some StringProtocol) -> [String] {
            text.split(separator: "\n").map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty }
        }
        let page = String(decoding: try #require(root.read("docs/library.md")), as: UTF8.self)
        let here = try #require(root.read("Tests/MirrorKitTests/LibraryPageTests.swift"))
        let compiled = Set(lines(String(decoding: here, as: UTF8.self)))
        // The first block belongs to a Package.swift.
        let blocks = page.split(separator: "```swift\n").dropFirst(2)
            .compactMap { $0.split(separator: "```").first }
        #expect(blocks.count == 4)
        for line in blocks.flatMap(lines) {
            #expect(compiled.contains(line), "library.md: \(line)")
        }
    }
}
