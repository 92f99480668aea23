import ArgumentParser
import Glibc
import MirrorKit
import MirrorModel

/// How servers are talked to.
struct NetworkOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Transfers at once, or auto: as many for each host as measuring shows to pay.",
            valueName: "n|auto"))
    var jobs = JobCount.number(16)

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Transfers at once to one host (8; the most, 64, with --jobs auto).", valueName: "n"))
    var perHost: Int?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Connections for one large file: a number, or auto for as many as raise the rate.",
            valueName: "n|auto"))
    var segments = SegmentLimit.automatic

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How often a transfer that failed in passing is tried again.", valueName: "n"))
    var retries = 4

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The longest wait before a retry; a server that asks for more fails now.",
            valueName: "time"))
    var maxWait = DurationText(seconds: 300)

    @Option(
        name: .long,
        help: ArgumentHelp("How long less than 1 KiB/s may arrive.", valueName: "time"))
    var stallTimeout = DurationText(seconds: 30)

    @Option(
        name: .long,
        help: ArgumentHelp("Bytes a second over all transfers, e.g. 2MiB.", valueName: "rate"))
    var limitRate: ByteCount?

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

    @Flag(name: .long, help: "Refuse what cannot be vouched for.")
    var strict = false

    @Flag(name: .long, help: "Take user names and passwords from ~/.netrc.")
    var netrc = false

    @Option(
        name: .long,
        help: ArgumentHelp("Take user names and passwords from this file.", valueName: "file"))
    var netrcFile: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Trust the certificates of this PEM file, and no others.", valueName: "file"))
    var cacert: String?

    @Flag(
        name: .long, help: "Talk to public addresses only: no private, loopback or link-local one.")
    var publicOnly = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Let ${NAME} in the manifest stand for this environment variable; repeatable.",
            discussion:
                "NAME@https://host sends it to that origin only; a bare NAME is for local manifests.",
            valueName: "name[@origin]"))
    var env: [String] = []

    func validate() throws {
        guard perHost ?? 1 > 0 else {
            throw ValidationError("--per-host takes a number of at least 1.")
        }
        guard retries >= 0 else { throw ValidationError("--retries takes 0 or more.") }
        guard stallTimeout.seconds > 0 else {
            throw ValidationError("--stall-timeout takes at least 1s.")
        }
        if let limitRate, limitRate.bytes < 1 {
            throw ValidationError("--limit-rate takes at least 1 byte a second.")
        }
    }

    /// The configuration that the options make, defaults elsewhere.
    var configuration: Configuration {
        var configuration = Configuration()
        switch jobs {
        case .number(let number):
            configuration.jobs = number
        case .auto:
            configuration.jobs = JobCount.mostWhenAuto
            configuration.perHost = JobCount.mostWhenAuto
            configuration.adaptsToHosts = true
        }
        if let perHost { configuration.perHost = perHost }
        configuration.segments = segments
        configuration.transfer.retries = retries
        configuration.transfer.longestWait = maxWait.seconds
        configuration.transfer.stallTimeout = stallTimeout.seconds
        configuration.transfer.sizeLimit = maxSize?.bytes
        configuration.transfer.isStrict = strict
        configuration.rateLimit = limitRate?.bytes
        configuration.transferLimit = maxTransfer?.bytes
        configuration.publicAddressesOnly = publicOnly
        configuration.certificateAuthorities = cacert
        configuration.netrc =
            netrcFile ?? (netrc ? getenv("HOME").map { String(cString: $0) + "/.netrc" } : nil)
        return configuration
    }

    /// The values that `--env` grants, and to whom. Throws `MirrorError` with `usage`.
    func secrets() throws -> Secrets {
        Secrets.ofThisProcess(grants: try env.map { try Grant($0) })
    }
}
