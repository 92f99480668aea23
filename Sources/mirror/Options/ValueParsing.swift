public import ArgumentParser
public import MirrorKit
public import MirrorModel

extension ByteCount: ExpressibleByArgument {
    /// Reads an argument; nil when it is not one.
    public init?(argument: String) { self.init(text: argument) }
}

extension DurationText: ExpressibleByArgument {
    /// Reads an argument; nil when it is not one.
    public init?(argument: String) { self.init(text: argument) }
}

extension DeleteLimit: ExpressibleByArgument {
    /// Reads an argument; nil when it is not one.
    public init?(argument: String) { self.init(text: argument) }
}

extension Target: ExpressibleByArgument {
    /// Reads an argument; nil when it is not one.
    public init?(argument: String) {
        guard let target = try? Target(argument) else { return nil }
        self = target
    }
}

extension ConflictPolicy: ExpressibleByArgument {}

/// When output is coloured.
enum ColorChoice: String, CaseIterable, ExpressibleByArgument {
    case auto, always, never
}
