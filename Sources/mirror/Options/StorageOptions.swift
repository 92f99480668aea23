import ArgumentParser
import MirrorKit
import MirrorModel

/// What Caches and tmp hold.
struct StorageOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "What mirror's files in Caches may take up, e.g. 5GiB; the rest is evicted.",
            valueName: "size"))
    var quota: ByteCount?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Remove files of tmp that were not used for so long, or are no longer named.",
            valueName: "time"))
    var keepTmp: DurationText?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Remove parts of unfinished files that no manifest wants after so long.",
            valueName: "time"))
    var keepParts = DurationText(seconds: 14 * 86400)

    func apply(to options: inout PlanOptions) {
        options.quota = quota?.bytes
        options.longestIdleInTmp = keepTmp?.seconds
        options.longestUnwantedPart = keepParts.seconds
    }
}
