public import ArgumentParser
public import MirrorKit

extension ByteCount: ExpressibleByArgument {
    /// Reads an argument. Returns nil if it is no valid value.
    public init?(argument: String) { self.init(text: argument) }

    /// The default in the form in which a user would type it: `64MiB`.
    public var defaultValueDescription: String {
        let units: [(Int64, String)] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB")]
        let unit = units.first { bytes >= $0.0 && bytes % $0.0 == 0 }
        return unit.map { "\(bytes / $0.0)\($0.1)" } ?? "\(bytes)"
    }
}

extension RateLimit: ExpressibleByArgument {
    /// Reads an argument. Returns nil if it is no valid value.
    public init?(argument: String) { self.init(text: argument) }
}

extension DailyWindows: ExpressibleByArgument {
    /// Reads an argument. Returns nil if it is no valid value.
    public init?(argument: String) { self.init(text: argument) }
}

extension TransferBudget: ExpressibleByArgument {
    /// Reads an argument. Returns nil if it is no valid value.
    public init?(argument: String) { self.init(text: argument) }
}

extension DurationText: ExpressibleByArgument {
    /// Reads an argument. Returns nil if it is no valid value.
    public init?(argument: String) { self.init(text: argument) }

    /// The default in the form in which a user would type it: `5m`.
    public var defaultValueDescription: String {
        let units: [(Int64, String)] = [(86400, "d"), (3600, "h"), (60, "m")]
        let unit = units.first { seconds >= $0.0 && seconds % $0.0 == 0 }
        return unit.map { "\(seconds / $0.0)\($0.1)" } ?? "\(seconds)s"
    }
}

extension DeleteLimit: ExpressibleByArgument {
    /// Reads an argument. Returns nil if it is no valid value.
    public init?(argument: String) { self.init(text: argument) }
}

extension Target: ExpressibleByArgument {
    /// A shell suggests the targets that the manifests or the root have.
    public static var defaultCompletionKind: CompletionKind { .targets }

    /// Reads an argument. Returns nil if it is no valid target.
    public init?(argument: String) {
        guard let target = try? Target(argument) else { return nil }
        self = target
    }
}

extension ConflictPolicy: ExpressibleByArgument {}

extension ConflictSide: ExpressibleByArgument {}

extension ListFormat: ExpressibleByArgument {}

extension ExportFormat: ExpressibleByArgument {}

extension ListenAddress: ExpressibleByArgument {
    /// Reads the argument of an option. Returns nil if it is no valid value.
    public init?(argument: String) { self.init(argument) }

    /// The address, for the help.
    public var defaultValueDescription: String { description }
}

extension DecodedManifest.Notation: ExpressibleByArgument {}

/// When output is coloured.
enum ColorChoice: String, CaseIterable, ExpressibleByArgument {
    case auto, always, never
}

/// How many transfers run at once.
enum JobCount: ExpressibleByArgument, Equatable {
    /// A fixed number.
    case number(Int)
    /// A number that mirror itself chooses.
    case auto

    /// Reads a number of at least 1, or `auto`. Returns nil for any other text.
    init?(argument: String) {
        if argument == "auto" {
            self = .auto
        } else if let number = Int(argument), Configuration.counts.contains(number) {
            self = .number(number)
        } else {
            return nil
        }
    }

    /// The default in the form in which a user would type it.
    var defaultValueDescription: String {
        switch self {
        case .number(let number): "\(number)"
        case .auto: "auto"
        }
    }
}
