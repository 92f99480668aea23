// The name of a part in `tmp/`: the target's name, a key, and `.part`.
//
// The key is derived from the target, from the identity of the bytes, and from random bytes, the
// generation. So a part of another version has another name. After a crash between the index and
// the file, a row can never refer to the bytes of another part. A process that shares the work of a
// root begins its keys with its own tag, so that it knows its leftovers from the parts of others.

extension PartRecord {
    /// Maximum number of bytes of the target's name that are kept.
    static let longestStem = 160

    /// Returns a name that no part had before.
    static func freshName(
        for target: Target, identity: PartIdentity, tag: String = ""
    ) -> String {
        name(for: target, identity: identity, generation: randomBytes(keyLength), tag: tag)
    }

    /// Returns a name for a file that no later run resumes. The key is random.
    static func passingName(for target: Target, tag: String = "") -> String {
        name(for: target, key: randomHex(keyLength), tag: tag)
    }

    /// Returns the name of a part, from its target, the identity of its bytes, and random bytes.
    static func name(
        for target: Target, identity: PartIdentity, generation: [UInt8], tag: String = ""
    ) -> String {
        var hasher = ByteHasher(.sha256)
        for field in [target.path] + fields(of: identity) {
            // No field contains NUL, so two lists of fields never give the same bytes.
            hasher.update(Array(field.utf8) + [0])
        }
        hasher.update(generation)
        return name(for: target, key: Hex.encode(hasher.finish().bytes.prefix(keyLength)), tag: tag)
    }

    /// Number of bytes that a key has.
    private static let keyLength = 16

    private static func name(for target: Target, key: String, tag: String) -> String {
        String(
            joining: target.name.prefix(bytes: longestStem), ".", tag,
            key.prefix(bytes: 2 * keyLength - tag.utf8.count), ".part")
    }

    /// Whether the key in a part's name begins with a tag.
    static func hasTag(_ tag: String, _ name: String) -> Bool {
        name.utf8.suffix(37).starts(with: tag.utf8)
    }

    /// Whether a file name in `tmp/` is the name of a part: 32 hexadecimal digits before `.part`.
    static func isName(_ name: String) -> Bool {
        let suffix = Array(name.utf8.suffix(38))
        guard suffix.count == 38, suffix.first == UInt8(ascii: "."),
            suffix.suffix(5).elementsEqual(".part".utf8)
        else { return false }
        return suffix[1...32].allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
    }

    private static func fields(of identity: PartIdentity) -> [String] {
        switch identity {
        case .digest(let digest): ["digest", digest.description]
        case .version(let provenance, let validator):
            ["version", provenance.source.text, provenance.answeredBy]
                + {
                    switch validator {
                    case .entityTag(let tag): ["tag", tag.text]
                    case .lastModified(let date): ["date", String(date.seconds)]
                    }
                }()
        case .anonymous: ["anonymous"]
        }
    }
}
