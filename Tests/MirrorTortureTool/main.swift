import Glibc
import MirrorTestSupport
import MirrorTorture

// Runs classes of the proof against a built mirror and prints their table.
//
//     mirror-torture [--program FILE] [--trials N] [--seed N] [--page FILE] [CLASS…]

var program = BuiltProgram.path(of: "mirror")
var trials: Int?
var seed = UInt64.random(in: 0...UInt64(UInt32.max))
var page: Folder?
var pageName = ""
var wanted: [String] = []

func fail(_ message: String) -> Never {
    let line = Array("mirror-torture: \(message)\n".utf8)
    _ = write(2, line, line.count)
    exit(64)
}

var words = Array(CommandLine.arguments.dropFirst())[...]
while let word = words.popFirst() {
    guard word.hasPrefix("--") else {
        wanted.append(word)
        continue
    }
    guard let value = words.popFirst() else { fail("\(word) needs a value") }
    switch word {
    case "--program": program = value
    case "--trials":
        guard let number = Int(value), number > 0 else { fail("--trials \(value): not a number") }
        trials = number
    case "--seed":
        guard let number = UInt64(value) else { fail("--seed \(value): not a number") }
        seed = number
    case "--page":
        pageName = String(value.split(separator: "/").last ?? "")
        page = Folder(String(value.dropLast(pageName.utf8.count + 1)))
    default: fail("\(word): there is no such option")
    }
}
let known = TortureTable.classes.map { $0.name }
if let other = wanted.first(where: { !known.contains($0) }) {
    fail("\(other) is no class; there are \(known.joined(separator: ", "))")
}
guard BuiltProgram.exists(program) else { fail("\(program): there is no such program") }

var rows: [String] = []
var hasFlaw = false
for kind in TortureTable.classes where wanted.isEmpty || wanted.contains(kind.name) {
    do {
        let tally = try kind.run(program: program, trials: trials ?? kind.trials, seed: seed)
        rows.append(TortureTable.row(kind, tally))
        print(rows.last ?? "")
        for note in (tally.reasonNotRun.map { [$0] } ?? tally.notes) { print("    \(note)") }
        for flaw in tally.flaws.prefix(20) { print("    \(flaw)") }
        if tally.flaws.count > 20 { print("    and \(tally.flaws.count - 20) more") }
        hasFlaw = hasFlaw || !tally.flaws.isEmpty
    } catch {
        print("| \(kind.name) | \(kind.title) | – | broke off: \(error) |")
        hasFlaw = true
    }
    fflush(nil)
}
if let page {
    let text = String(decoding: page.read(pageName) ?? [], as: UTF8.self)
    guard let new = TortureTable.page(text, with: rows) else {
        fail("\(page.full(pageName)): no place for the table")
    }
    try page.write(pageName, Array(new.utf8))
}
exit(hasFlaw ? 1 : 0)
