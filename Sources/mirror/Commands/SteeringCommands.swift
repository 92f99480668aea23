import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror pause`: a run asks for no more bytes.
struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Let a run ask for no more bytes, of some targets or of all.",
        discussion: """
            The connections go back, and the parts are kept. A file that could not go on where it was \
            keeps its connection. The run waits until `mirror resume`. With --sticky the files are put \
            aside: this run and later ones go on without them.

            EXAMPLES:
              mirror pause                       everything
              mirror pause Documents/world.pmtiles
              mirror pause --sticky Caches/video.mp4
            """)

    @OptionGroup var options: SteeringOptions

    @Flag(name: .long, help: "Also in later runs, until `mirror resume`.")
    var sticky = false

    func run() async throws {
        let isSticky = sticky
        let steering = Steering(
            options: options, request: .pause(options.targets, isSticky: sticky), word: "paused",
            alone: isSticky ? PauseCommand.putAside : nil)
        try await steering.run()
    }

    @Sendable private static func putAside(
        _ session: MirrorSession, _ targets: [Target]
    ) async throws -> [Target]? {
        if targets.isEmpty { try await session.putAside(nil) }
        for target in targets { try await session.putAside(target) }
        return targets
    }
}

/// `mirror resume`: a run goes on.
struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let a run go on that was paused.",
        discussion: """
            Ends what `mirror pause` began, and what `mirror pause --sticky` put aside: a watch fetches \
            it at once, and otherwise the next sync does.

            EXAMPLES:
              mirror resume
              mirror resume Documents/world.pmtiles
            """)

    @OptionGroup var options: SteeringOptions

    func run() async throws {
        let steering = Steering(
            options: options, request: .resume(options.targets), word: "resumed",
            alone: ResumeCommand.takeUp)
        try await steering.run()
    }

    @Sendable private static func takeUp(
        _ session: MirrorSession, _ targets: [Target]
    ) async throws -> [Target]? {
        if targets.isEmpty { return try await session.takeUp(nil) ? [] : nil }
        var taken: [Target] = []
        for target in targets where try await session.takeUp(target) { taken.append(target) }
        return taken.isEmpty ? nil : taken
    }
}

/// `mirror cancel`: a run ends, or some of its transfers do.
struct CancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "End a run, or the transfers of some targets.",
        discussion: """
            The parts are kept for the next run, unless --discard is given. A watch goes on, and syncs \
            when its next turn comes.

            EXAMPLES:
              mirror cancel
              mirror cancel --discard Documents/world.pmtiles
            """)

    @OptionGroup var options: SteeringOptions

    @Flag(name: .long, help: "Delete the parts.")
    var discard = false

    func run() async throws {
        let steering = Steering(
            options: options, request: .cancel(options.targets, discardingParts: discard),
            word: "cancelled")
        try await steering.run()
    }
}
