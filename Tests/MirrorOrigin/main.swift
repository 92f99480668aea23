import Glibc
import MirrorTestSupport

// A test origin on its own: prints its URL and serves until standard input ends.
//
//     mirror-origin FILE.scenario [PORT [PHASE]]   the replies of a phase, by default the first
//     mirror-origin --folder DIR [PORT]            a folder, honestly: tags, ranges, conditions

func fail(_ message: String) -> Never {
    let line = Array("mirror-origin: \(message)\n".utf8)
    _ = write(2, line, line.count)
    exit(64)
}

var words = Array(CommandLine.arguments.dropFirst())
let isFolder = words.first == "--folder"
if isFolder { words.removeFirst() }
guard let path = words.first else {
    fail("usage: mirror-origin FILE.scenario [PORT [PHASE]] | --folder DIR [PORT]")
}
let port = words.count > 1 ? UInt16(words[1]) ?? 0 : 0
do {
    let server: OriginServer
    if isFolder {
        server = try OriginServer(port: port, responder: ShelfOrigin(FolderShelf(path)))
    } else {
        guard let bytes = Folder(".").read(path) ?? Folder("/").read(path) else {
            fail("\(path): cannot be read")
        }
        server = try ScenarioServer(
            String(decoding: bytes, as: UTF8.self), port: port,
            phase: words.count > 2 ? Int(words[2]) ?? 1 : 1
        ).server
    }
    print(server.url)
    fflush(nil)
    while readLine() != nil {}
    server.stop()
} catch {
    fail("\(error)")
}
