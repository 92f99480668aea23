import ArgumentParser
import MirrorKit
import MirrorModel

/// Which resources are selected, and which state is assumed of them; shared by plan and sync.
struct SelectionOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("Only resources with this tag; repeatable.", valueName: "tag"),
        completion: Suggestions.tags)
    var only: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("No resources with this tag; repeatable.", valueName: "tag"),
        completion: Suggestions.tags)
    var skip: [String] = []

    @Flag(name: .long, help: "Remove files that the manifest named before and no longer names.")
    var prune = false

    @Flag(
        name: .long,
        help: "All or nothing: put all files of a manifest in place together, or none.")
    var atomic = false

    @Flag(name: .long, help: "Read every file again, whatever its time and size say.")
    var verify = false

    @Flag(name: .long, help: "Treat every unpinned file as due.")
    var refresh = false

    @Option(
        name: .long,
        help: ArgumentHelp("Treat this file as not there; repeatable.", valueName: "target"))
    var refetch: [Target] = []

    @Flag(
        name: .long,
        help: "Move a target that another manifest wants otherwise to the one that is given.")
    var takeOver = false

    @Flag(name: .long, help: "Refuse a manifest in which a resource has no sha256 or better.")
    var requirePinned = false

    var planOptions: PlanOptions {
        var options = PlanOptions()
        options.only = Set(only)
        options.skip = Set(skip)
        options.prunes = prune
        options.isAtomic = atomic
        options.everythingIsDue = refresh
        options.refetched = Set(refetch)
        options.rehashes = verify
        options.takesOver = takeOver
        options.refusesUnknownNames = true
        return options
    }
}
