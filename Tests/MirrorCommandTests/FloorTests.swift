import MirrorTestSupport
import Testing

@testable import mirror

/// What each part of the code may import, and what the library does not know of the command.
@Suite struct FloorTests {
    private static let kernel: Set<String> = ["CLinux", "Glibc", "Synchronization"]
    /// What each folder may import; the first that holds a file counts.
    ///
    /// Each C library has one folder that calls it. The model imports nothing, and `scripts/test`
    /// compiles it alone: so no decision does input or output.
    static let allowed: [(folder: String, modules: Set<String>)] = [
        ("MirrorKit/Model/", []),
        ("MirrorKit/Formats/", ["CXML2", "CCompression", "Glibc"]),
        ("MirrorKit/Index/", kernel.union(["CSQLite"])),
        ("MirrorKit/Serve/", kernel.union(["CMicrohttpd"])),
        ("MirrorKit/System/", kernel.union(["CCrypto"])),
        ("MirrorKit/Transfer/", kernel.union(["CCurl"])),
        ("MirrorKit/", kernel),
        ("mirror/", ["MirrorKit", "ArgumentParser", "Glibc", "Synchronization"]),
    ]

    private static let sources = Folder(
        #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined() + "/Sources")

    /// Swift files by their path below `Sources/`. What a tutorial shows is a program of its own.
    static var files: [String] {
        sources.entries().map(\.name).filter {
            $0.hasSuffix(".swift") && !$0.contains(".docc/")
        }
    }

    @Test(arguments: FloorTests.files) func importsAreThoseOfTheFolder(_ file: String) throws {
        let allowed = try #require(
            FloorTests.allowed.first { file.hasPrefix($0.folder) },
            "Sources/\(file) is in no folder of the table: add it")
        for name in FloorTests.imports(in: try text(file)) {
            #expect(allowed.modules.contains(name), "\(file) may not import \(name)")
        }
    }

    /// A C module is a public dependency of nobody: what imports it does so internally.
    @Test(arguments: FloorTests.files) func cModulesAreImportedInternally(_ file: String) throws {
        for line in FloorTests.importLines(in: try text(file))
        where line.first == "public" || line.first == "package" {
            let module = line.dropFirst().drop { $0 == "import" }.first ?? ""
            #expect(
                !module.hasPrefix("C") && module != "Glibc",
                "\(file): \(line.joined(separator: " "))")
        }
    }

    static let options = Set(OptionCatalog().options.map { "--\($0.name)" })

    /// The library gives remedies as values; options are the command's.
    @Test(arguments: FloorTests.files.filter { !$0.hasPrefix("mirror/") })
    func theLibraryNamesNoOption(_ file: String) throws {
        for line in try text(file).split(separator: "\n") {
            let code = line.drop { $0 == " " }
            guard !code.hasPrefix("//"), code.contains("\"") else { continue }
            // Other programs that it starts have options of their own.
            let words = code.split { !($0.isLetter || $0.isNumber || $0 == "-") }
            for word in words where FloorTests.options.contains(String(word)) {
                Issue.record("\(file): \(word)")
            }
        }
    }

    @Test func importCheckSeesEveryFormOfImport() {
        let text = """
            internal import A
            @testable import B
              import struct C.D
            @preconcurrency public import E  // why
            let important = "import F"
            // import G
            """
        #expect(FloorTests.imports(in: text) == ["A", "B", "C", "E"])
    }

    private func text(_ file: String) throws -> String {
        String(decoding: try #require(FloorTests.sources.read(file)), as: UTF8.self)
    }

    /// The top modules that a file's import lines name.
    static func imports(in text: String) -> [String] {
        importLines(in: text).compactMap { words in
            let kinds = ["struct", "class", "enum", "protocol", "func", "typealias", "var", "let"]
            let names = words.drop { $0 != "import" }.dropFirst().drop(while: kinds.contains)
            return names.first?.split(separator: ".").first.map(String.init)
        }
    }

    /// The words of each line that imports something.
    private static func importLines(in text: String) -> [[String]] {
        text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }.filter {
            words in
            guard let index = words.firstIndex(of: "import") else { return false }
            let levels = ["public", "package", "internal", "fileprivate", "private"]
            return words[..<index].allSatisfy { $0.hasPrefix("@") || levels.contains($0) }
        }
    }
}
