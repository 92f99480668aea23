import MirrorSimulation

#if canImport(Glibc)
    import Glibc
#endif

// Plays stories of transfers in virtual time:
//
//   mirror-simulate FIRST COUNT      as many seeds from the first; says which did not end well
//   mirror-simulate FIRST            one seed, with its story
//
// The order in which Swift walks through a dictionary is part of a run, so it is fixed first.
let words = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
guard let first = words.first, words.count <= 2 else {
    print("usage: mirror-simulate FIRST-SEED [COUNT]")
    exit(64)
}
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) }
    arguments.append(nil)
    execv("/proc/self/exe", arguments)
}
if words.count == 1 {
    let finding = try Simulation.play(seed: first, tellsStory: true)
    for line in finding.story { print(line) }
    for line in finding.wrong { print("wrong: \(line)") }
    print(
        "\(finding.received) received, \(finding.failed) failed, \(finding.cancelled) cancelled, \(finding.requests) requests, \(finding.milliseconds) ms"
    )
    exit(finding.wrong.isEmpty ? 0 : 1)
}
var (failed, received, requests, lost, seconds) = (0, 0, 0, 0, Int64(0))
for seed in first..<first + words[1] {
    let finding = try Simulation.play(seed: seed)
    received += finding.received
    lost += finding.failed
    requests += finding.requests
    seconds += finding.milliseconds / 1000
    if finding.wrong.isEmpty { continue }
    failed += 1
    if failed <= 20 {
        print("seed \(seed):")
        for line in finding.wrong.prefix(3) { print("    \(line)") }
    }
}
print(
    "\(words[1]) seeds, \(failed) did not end well; \(received) received, \(lost) failed, \(requests) requests, \(seconds / 3600) virtual hours"
)
exit(failed == 0 ? 0 : 1)
