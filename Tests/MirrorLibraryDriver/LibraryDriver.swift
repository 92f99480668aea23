import Glibc
import MirrorKit

/// A program on the library, as a user of it would write one: scenarios run against it too.
///
/// It knows `sync MANIFEST [--retries N]` and prints the run's events as lines of JSON.
@main
struct LibraryDriver {
    static func main() async {
        var arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.first == "sync", arguments.count > 1 else { exit(64) }
        let path = arguments[1]
        arguments.removeFirst(2)
        var configuration = Configuration()
        if let at = arguments.firstIndex(of: "--retries"), at + 1 < arguments.count {
            configuration.transfer.retries = Int(arguments[at + 1]) ?? 4
        }
        do {
            exit(try await sync(path, configuration))
        } catch let refusal as ManifestError {
            say(refusal.description)
            exit(65)
        } catch {
            let error = MirrorError(wrapping: error)
            say(error.message)
            exit(error.code.exitCode)
        }
    }

    private static func say(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        bytes.withUnsafeBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    private static func sync(_ path: String, _ configuration: Configuration) async throws -> Int32 {
        let session = try MirrorSession(configuration: configuration)
        let plan = try await session.plan(try await session.load(contentsOf: path))
        var code: Int32 = 70
        do {
            for try await event in session.execute(plan) {
                let line = Array((event.json + "\n").utf8)
                line.withUnsafeBytes { _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
                if case .summary(let summary) = event.body { code = summary.exit }
            }
        } catch  where code != 70 {
            // What ended the run is in its summary.
        }
        return code
    }
}
