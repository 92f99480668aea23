internal import Glibc
internal import MirrorTestSupport

/// A sanitizer of Swift's toolchain: how a build gets it, and where its reports go.
enum Sanitizer: String, CaseIterable {
    case thread, address

    /// What its reports call it.
    var title: String { self == .thread ? "ThreadSanitizer" : "AddressSanitizer" }

    /// A folder of its own for each build, so that one does not undo the other.
    private var scratch: String { self == .thread ? ".build/tsan" : ".build/asan" }

    /// Where its build puts programs.
    var products: String { "\(Project.folder)/\(scratch)/debug" }

    /// What `swift build` and `swift test` need to be told.
    var options: [String] {
        ["--sanitize", rawValue, "--scratch-path", scratch]
            + (self == .thread ? ["-Xlinker", object] : [])
    }

    /// The shim that tells of orders that the sanitizer does not see (visible_order.c), compiled.
    private var object: String { "\(Project.folder)/\(scratch)/visible_order.o" }

    /// What processes under it are told: one folder for the reports of all of them, so that none is
    /// lost in an output that a test throws away. Exit codes stay what tests expect.
    func environment(reports: Folder, tools: String) -> [String: String] {
        let common =
            "log_path=\(reports.full("report")):external_symbolizer_path=\(tools)/"
            + "llvm-symbolizer"
        switch self {
        case .thread: return ["TSAN_OPTIONS": "\(common):exitcode=0"]
        // Swift keeps pointers to side tables in a form that a search for leaks does not know.
        case .address: return ["ASAN_OPTIONS": "\(common):detect_leaks=0"]
        }
    }

    /// Compiles the shim.
    func prepare(tools: String) throws {
        guard self == .thread else { return }
        try Folder(Project.folder).makeFolders(above: "\(scratch)/.")
        try Sanitizer.compile([
            "\(tools)/clang", "-c", "-O1", "-fPIC", Sanitizer.source("visible_order.c"),
            "-o", object,
        ])
    }

    /// Compiles the program of the controls.
    func compileControl(into folder: Folder) throws -> String {
        let program = folder.full("control-\(rawValue)")
        try Sanitizer.compile(
            [
                "/usr/bin/env", "swiftc", "-swift-version", "6", "-sanitize=\(rawValue)",
                Sanitizer.source("control.swift"), "-o", program,
            ] + (self == .thread ? [object] : []))
        return program
    }

    /// The reports in a folder, each by its first lines: what it is, and where.
    func reports(in folder: Folder) -> [String] {
        folder.entries().flatMap { entry in
            let text = String(decoding: folder.read(entry.name) ?? [], as: UTF8.self)
            return reports(in: text)
        }
    }

    private func reports(in text: String) -> [String] {
        var reports: [[Substring]] = []
        for line in text.split(separator: "\n") {
            if line.contains("\(title): "), !line.hasPrefix("SUMMARY: "), !line.hasPrefix(title) {
                reports.append([line])
            } else if line.contains("    #") || line.contains(" at 0x"), !reports.isEmpty {
                reports[reports.count - 1].append(line)
            }
        }
        return reports.map { lines in
            lines.prefix(8).map { $0.drop { $0 == " " || $0 == "=" }.prefix(200) }
                .joined(separator: " | ")
        }
    }

    private static func source(_ name: String) -> String {
        "\(Project.folder)/Tests/Sanitizers/\(name)"
    }

    private static func compile(_ words: [String]) throws {
        let result = try Command(
            words[0], Array(words.dropFirst()), environment: Project.environment()
        ).wait(seconds: 300)
        guard result.ending == .exited(0) else {
            let lines = (result.output + result.errors).split(separator: "\n")
            let error = lines.first { $0.contains("error:") }.map(String.init)
            throw Project.BuildFailure(description: error ?? "\(words[0]): \(result.ending)")
        }
    }
}
