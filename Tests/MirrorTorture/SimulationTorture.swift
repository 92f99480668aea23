internal import Glibc
internal import MirrorTestSupport

/// The engine of transfers in virtual time: hosts, lines, disks and people that a seed makes up.
///
/// A seed is a trial. They are played by a program of their own, which looks into the library, in blocks, on
/// two processors.
enum SimulationTorture: TortureClass {
    static let name = "R21"
    static let title = "transfers in virtual time, from a seed"
    static let trials = 1_000_000
    private static let block = 2000

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        var tally = Tally()
        let simulator =
            getenv("MIRROR_SIMULATE").map { String(cString: $0) }
            ?? BuiltProgram.path(of: "mirror-simulate")
        guard BuiltProgram.exists(simulator) else {
            return Tally(notRun: "there is no \(simulator)")
        }
        var requests = 0
        var hours = 0
        var first = 0
        while first < trials {
            // The same seeds in every whole run, so that figures of two builds can be compared.
            let begins = [first, first + block].filter { $0 < trials }
            let commands = try begins.map { begin in
                (begin, try Command(simulator, ["\(begin)", "\(min(block, trials - begin))"]))
            }
            for (begin, command) in commands {
                let result = command.wait(seconds: 1800)
                let lines = result.output.split(separator: "\n").map(String.init)
                let count = min(block, trials - begin)
                guard let last = lines.last, last.hasPrefix("\(count) seeds") else {
                    tally.count(
                        count, of: "seeds from \(begin)", ["\(result.ending): \(result.errors)"])
                    continue
                }
                tally.count(count, of: "simulated", lines.filter { $0.hasPrefix("seed") })
                requests += number(before: " requests", in: last)
                hours += number(before: " virtual hours", in: last)
            }
            first += 2 * block
        }
        tally.notes.append("\(requests) requests, \(hours) hours of virtual time; seeds from 0 on")
        return tally
    }

    private static func number(before words: String, in line: String) -> Int {
        guard let range = line.firstRange(of: words) else { return 0 }
        return Int(line[..<range.lowerBound].split(separator: " ").last ?? "") ?? 0
    }
}
