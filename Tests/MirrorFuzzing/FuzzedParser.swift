/// A parser of what others write, and what must hold of whatever it makes of any bytes.
///
/// A fuzzer calls `flaw(in:)` with bytes that it invents; a trap is one kind of failure, a flaw that
/// is returned the other. The same call replays the corpus in the ordinary tests.
public struct FuzzedParser: Sendable {
    /// The name by which it is asked for, and its folder in the corpus.
    public let name: String
    /// The greatest length of an input in bytes that is worth a trial.
    public let longest: Int
    /// The name of the word list that its inputs are made of; nil when there is none.
    public let dictionary: String?
    /// Parses, and says what is wrong with the outcome; nil when everything holds.
    public let flaw: @Sendable (_ bytes: [UInt8]) -> String?

    init(
        _ name: String, longest: Int, dictionary: String? = nil,
        _ flaw: @escaping @Sendable ([UInt8]) -> String?
    ) {
        self.name = name
        self.longest = longest
        self.dictionary = dictionary
        self.flaw = flaw
    }

    /// A parser of texts: bytes that are not UTF-8 never get to it.
    init(
        text name: String, longest: Int, dictionary: String? = nil,
        _ flaw: @escaping @Sendable (String) -> String?
    ) {
        self.init(name, longest: longest, dictionary: dictionary) { bytes in
            String(validating: bytes, as: UTF8.self).flatMap(flaw)
        }
    }

    /// Every parser, those of manifests first.
    public static let all: [FuzzedParser] =
        ManifestProperties.parsers + FieldProperties.parsers + HeadProperties.parsers
        + TextProperties.parsers

    /// The parser of a name; nil when there is none.
    public static func named(_ name: String) -> FuzzedParser? { all.first { $0.name == name } }
}

/// The first of these claims that does not hold.
func firstFlaw(_ claims: (holds: Bool, claim: String)...) -> String? {
    claims.first { !$0.holds }?.claim
}
