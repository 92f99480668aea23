internal import Glibc
internal import MirrorTestSupport

/// What a class of the proof tried, what held, and what did not.
public struct Tally: Sendable {
    /// How many trials were made.
    public private(set) var tried = 0
    /// Those that did not hold: which trial, and what was wrong.
    public private(set) var flaws: [String] = []
    /// What a reader of the figures should know.
    public var notes: [String] = []
    /// Why the class was not run on this machine; nil when it was.
    public var reasonNotRun: String?

    private let began = Milliseconds.now
    private var spoke = Milliseconds.now

    /// An empty tally.
    public init() {}

    /// A tally of a class that this machine does not allow.
    public init(notRun reason: String) { reasonNotRun = reason }

    /// How many trials held.
    public var held: Int { tried - flaws.count }

    /// Counts one trial, which held when nothing is wrong.
    public mutating func count(_ trial: @autoclosure () -> String, _ wrong: [String]) {
        tried += 1
        if !wrong.isEmpty { flaws.append("\(trial()): \(wrong.joined(separator: "; "))") }
        speak()
    }

    /// Counts trials that were made in one go, of which each flaw is one that did not hold.
    public mutating func count(
        _ number: Int, of trials: @autoclosure () -> String, _ wrong: [String]
    ) {
        tried += max(number, wrong.count)
        flaws += wrong.map { "\(trials()): \($0)" }
        speak()
    }

    /// A class can run for many minutes: every half minute it says how far it is.
    private mutating func speak() {
        guard Milliseconds.now - spoke > 30_000 else { return }
        spoke = Milliseconds.now
        let line = "    \(held) of \(tried) held after \((spoke - began) / 1000) s\n"
        _ = line.withCString { write(2, $0, strlen($0)) }
    }
}

/// One class of the proof: a promise, tried many times against the built program.
public protocol TortureClass: Sendable {
    /// The name by which it is asked for, e.g. `R7`.
    static var name: String { get }
    /// What it tries, in a few words.
    static var title: String { get }
    /// How many trials a whole run makes.
    static var trials: Int { get }
    /// Makes about as many trials as are asked for, spread over all it can try.
    ///
    /// - Parameters:
    ///   - program: the path of `mirror`.
    ///   - trials: how many.
    ///   - seed: fixes what is random, so that a failing run can be repeated.
    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally
}

extension Array {
    /// At most `count` elements, spread evenly.
    func spread(_ count: Int) -> [Element] {
        guard count < self.count, count > 0 else { return self }
        return (0..<count).map { self[$0 * self.count / count] }
    }
}
