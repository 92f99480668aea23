import ArgumentParser

/// Where the tree is.
struct RootOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The folder that holds Documents, Caches, tmp and .mirror.",
            discussion:
                "Default: $MIRROR_ROOT, else the nearest folder above that has .mirror, else here.",
            valueName: "dir"),
        completion: .directory)
    var root: String?
}
