@testable import MirrorKit

/// What holds of every list of another program, taken or refused.
enum ListProperties {
    static let flaw: @Sendable ([UInt8]) -> String? = { bytes in
        let number = ManifestProperties.fingerprint(bytes)
        let origin = ManifestProperties.origin(number)
        do {
            let hint = try hint(number / 4)
            let decoded = try ManifestReader.read(bytes, label: "m", origin: origin, hint: hint)
            return RefusalProperties.flaw(in: decoded.warnings, of: bytes)
                ?? ModelProperties.flaw(in: decoded.manifest, of: origin)
                ?? WritingProperties.flaw(in: decoded, of: origin, trial: 0)
        } catch let refusal as ManifestError {
            return RefusalProperties.flaw(in: refusal, of: bytes)
        } catch let error as MirrorError {
            // Damaged compression has no place in the text.
            return error.code == .manifestInvalid ? nil : "another error: \(error)"
        } catch {
            return "another error: \(error)"
        }
    }

    /// Mostly only a base; else a format that is insisted on as well, or nothing.
    private static func hint(_ number: Int) throws -> ListHint {
        let base = try SourceURL("https://origin.example/files/")
        let formats = ListFormat.allCases
        return switch number % 8 {
        case 0: ListHint()
        case 1: try ListHint(format: formats[number / 8 % formats.count], base: base, name: "m")
        default: try ListHint(format: nil, base: base, name: "m")
        }
    }
}
