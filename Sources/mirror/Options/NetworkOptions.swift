import ArgumentParser
import MirrorKit
import MirrorModel

/// How servers are talked to, for verbs that fetch resources.
struct NetworkOptions: ParsableArguments, ManifestNetwork {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Transfers at once, over all hosts (auto: 128).", valueName: "n|auto"))
    var jobs = JobCount.auto

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Transfers at once to one host, instead of as many as measuring shows to pay: from 8 on, up to 64 connections, or 100 streams of HTTP/2.",
            valueName: "n"))
    var perHost: Int?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Connections for one large file: a number, or auto for as many as raise the rate.",
            valueName: "n|auto"))
    var segments = SegmentLimit.automatic

    @OptionGroup var connection: ConnectionOptions

    @Option(
        name: .long,
        help: ArgumentHelp("The greatest body whose size is not declared.", valueName: "size"))
    var maxSize: ByteCount?

    @Option(
        name: .long,
        help: ArgumentHelp("End the run after so many received bytes.", valueName: "size"))
    var maxTransfer: ByteCount?

    @Flag(name: .long, help: "No request: use what is there.")
    var offline = false

    @Flag(
        name: .long,
        help: "Refuse what cannot be vouched for, and a list of which an entry cannot be taken.")
    var strict = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Let ${NAME} in the manifest stand for this environment variable; repeatable.",
            discussion:
                "NAME@https://host sends it to that origin only; a bare NAME is for local manifests.",
            valueName: "name[@origin]"))
    var env: [String] = []

    func validate() throws {
        guard NumberRange.counts.contains(perHost ?? 1) else {
            throw ValidationError("--per-host takes a whole number of at least 1.")
        }
    }

    /// The configuration that the options make, defaults elsewhere.
    var configuration: Configuration {
        var configuration = connection.configuration
        if case .number(let number) = jobs { configuration.jobs = number }
        configuration.perHost = perHost
        configuration.segments = segments
        configuration.transfer.sizeLimit = maxSize?.bytes
        configuration.transfer.isStrict = strict
        configuration.transferLimit = maxTransfer?.bytes
        return configuration
    }

    /// The values that `--env` grants, and to whom. Throws `MirrorError` with `usage`.
    func secrets() throws -> Secrets {
        Secrets.ofThisProcess(
            grants: try env.map { text in
                do throws(MirrorError) { return try Grant(text) } catch {
                    throw MirrorError(error.code, "--env \(error.message)")
                }
            })
    }
}
