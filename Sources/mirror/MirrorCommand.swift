import ArgumentParser

@main
struct MirrorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "mirror")
}
