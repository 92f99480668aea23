internal import Glibc
internal import MirrorTestSupport

/// The project's folder, and its build tool, for classes that try another build.
enum Project {
    /// The absolute path of the folder that Package.swift lies in.
    static let folder: String = {
        let parts = #filePath.split(separator: "/").dropLast(3)
        return "/" + parts.joined(separator: "/")
    }()

    /// The folder of the toolchain's programs; nil where there is no Swift.
    static let tools: String? = {
        let result = try? Command.run(
            "/usr/bin/env", ["swiftc", "-print-target-info"], environment: environment())
        let library = result.flatMap { JSONValue($0.output) }?["paths"]?["runtimeResourcePath"]?
            .word
        // …/usr/lib/swift
        return library.map { path in
            "/" + path.split(separator: "/").dropLast(2).joined(separator: "/") + "/bin"
        }
    }()

    /// What this process was started with, and more.
    static func environment(_ more: [String: String] = [:]) -> [String: String] {
        var found = more
        var at = environ
        while let entry = at.pointee {
            let text = String(cString: entry)
            if let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")) {
                let name = String(text[..<mark])
                found[name] = found[name] ?? String(text[text.utf8.index(after: mark)...])
            }
            at += 1
        }
        return found
    }

    /// Runs `swift` in the project's folder.
    static func swift(
        _ arguments: [String], environment more: [String: String] = [:], seconds: Int
    ) throws -> Command.Result {
        try Command(
            "/usr/bin/env", ["swift"] + arguments, environment: environment(more), folder: folder
        ).wait(seconds: seconds)
    }

    /// Builds something; throws the first error that was said.
    static func build(_ arguments: [String]) throws {
        let result = try swift(["build"] + arguments, seconds: 3600)
        guard result.ending != .exited(0) else { return }
        let lines = (result.output + result.errors).split(separator: "\n")
        let error = lines.first { $0.contains("error:") }.map(String.init)
        throw BuildFailure(description: "swift build: \(error ?? "\(result.ending)")")
    }

    /// A build that did not succeed.
    struct BuildFailure: Error, CustomStringConvertible {
        let description: String
    }
}
