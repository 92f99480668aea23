import MirrorModel
import MirrorTestSupport
import Testing

@testable import MirrorManifests

/// The short way through plain resources gives what the usual way gives.
///
/// A note at the end of an object (`"x-n": 0`) changes nothing about what it says and takes it off the
/// short way; so each manifest is read twice, once with notes in every resource.
@Suite struct PlainResourceTests {
    private struct Outcome: Equatable {
        var resources: ResourceTable?
        var places: [String] = []
        var diagnostics: [String] = []
    }

    private func read(_ text: String, _ origin: ManifestOrigin) throws -> Outcome {
        var outcome = Outcome()
        do {
            let decoded = try ManifestReader.read(Array(text.utf8), label: "m", origin: origin)
            outcome.resources = decoded.manifest.resources
            let table = decoded.manifest.resources
            outcome.places = table.indices.map { "\(table.place(at: $0))" }
            outcome.diagnostics = decoded.warnings.map(\.description)
        } catch let refusal as ManifestRefusal {
            outcome.diagnostics = refusal.diagnostics.map(\.description)
        }
        return outcome
    }

    private func expectSame(
        _ objects: [String], top: String = "",
        origin: ManifestOrigin = .file(path: "/l/m.json"), separator: String = ",\n"
    ) throws {
        func manifest(note: String) -> String {
            let list = objects.map { object in
                object.dropLast() + note + "}"
            }
            return "{ \(top) \"name\": \"n\",\n \"resources\": [ "
                + list.joined(separator: separator) + " ] }"
        }
        let note = ", \"x-n\": 0"
        // As long as the note, so that what follows has the same place.
        let space = String(repeating: " ", count: note.count)
        let short = try read(manifest(note: space), origin)
        let usual = try read(manifest(note: note), origin)
        let complaints = "\(short.diagnostics), \(usual.diagnostics)"
        #expect(short == usual, "\(objects.first ?? ""): \(complaints)")
    }

    private static let hex = String(repeating: "0123456789abcdefABCDEF0123456789", count: 2)
    private static let base = "\"base\": \"https://h.example:8443/maps/v1/\","

    @Test(arguments: [
        #"{"path":"Caches/a/b.bin","url":"a/b.bin","size":12,"sha256":"HEX"}"#,
        #"{"path":"Caches/a/b.bin","url":"b.bin"}"#,
        #"{"path":"Caches/x","url":"x","refresh":"always"}"#,
        #"{"path":"Caches/x","url":"x","sha256":"HEX","refresh":"6h"}"#,
        #"{"path":"Caches/x","url":"x","refresh":"hourly"}"#,
        #"{"path":"Caches/x","url":"x","refresh":""}"#,
        #"{"path":"Caches/x","url":"x","refresh":"1d","refresh":"2d"}"#,
        #"{"path":"Documents/maps/v1/x","url":"x","size":0}"#,
        #"{"path":"Caches/v1/x","url":"x","size":9223372036854775807}"#,
        #"{"path":"Caches/x","url":"x","size":9223372036854775808}"#,
        #"{"path":"Caches/x","url":"x","size":01}"#,
        #"{"path":"Caches/x","url":"x","size":1.0}"#,
        #"{"path":"Caches/x","url":"x","size":-1}"#,
        #"{"path":"Caches/x","url":"x","size":"1"}"#,
        #"{"path":"Caches/x","url":"x","size":999999999999999999}"#,
        #"{"path":"Caches/x","url":"x","size":1234567890123456789}"#,
        #"{"path":"Caches/a b","url":"a%20b"}"#, #"{"path":"Caches/x","url":"a b"}"#,
        #"{"path":"Caches/é","url":"é"}"#, #"{"path":"Caches/x","url":"../x"}"#,
        #"{"path":"Caches/x","url":"./x"}"#, #"{"path":"Caches/x","url":".x"}"#,
        #"{"path":"Caches/../x","url":"x"}"#, #"{"path":"Caches//x","url":"x"}"#,
        #"{"path":"Caches/","url":"x"}"#, #"{"path":"Caches/x/","url":"y/z"}"#,
        #"{"path":"Caches","url":"x"}"#, #"{"path":"tmp/x.part","url":"x"}"#,
        #"{"path":"tmp/x","url":"x"}"#, #"{"path":"data/x","url":"x"}"#,
        #"{"path":"/Caches/x","url":"x"}"#, #"{"path":"Caches/x","url":"/x"}"#,
        #"{"path":"Caches/x","url":"//other.example/x"}"#,
        #"{"path":"Caches/x","url":"https://other.example/x"}"#,
        #"{"path":"Caches/x","url":"x?q=1"}"#, #"{"path":"Caches/x","url":"x#f"}"#,
        #"{"path":"Caches/x","url":"a:b"}"#, #"{"path":"Caches/x","url":""}"#,
        #"{"path":"","url":"x"}"#, #"{"url":"x"}"#, #"{"path":"Caches/x"}"#,
        #"{"path":"Caches/x","url":"x","sha256":"abc"}"#,
        #"{"path":"Caches/x","url":"x","sha256":"sha256:HEX"}"#,
        #"{"path":"Caches/x","url":"x","sha256":""}"#,
        #"{"path":"Caches/x","url":"x","sha1":"HEX"}"#,
        #"{"path":"Caches/x","url":"x","sizes":1}"#,
        #"{"path":"Caches/x","url":"x","url":"y"}"#,
        #"{"path":"Caches/x","path":"Caches/y","url":"y"}"#,
        #"{"path":"Caches/x","url":"x","size":1,"size":2}"#,
        #"{"p\u0061th":"Caches/x","url":"x"}"#, #"{"path":"Caches\/x","url":"x"}"#,
        #"{"path" : "Caches/x" , "url" :"x"}"#,
        "{\n  \"path\": \"Caches/x\",\r\n\t\"url\": \"x\"\n}",
        #"{"path":"Caches/x","url":null}"#, #"{"path":7,"url":"x"}"#,
        #"{"path":"Caches/x","url":"x","priority":3}"#, #"{"path":"Caches/x" "url":"x"}"#,
        #"{'path':"Caches/x"}"#,
    ])
    func plainReaderAgreesOnOneResource(_ object: String) throws {
        let text = object.replacing("HEX", with: Self.hex)
        let other = #"{"path":"Documents/other.bin","url":"o/other.bin"}"#
        for list in [[text], [other, text], [text, other], [other, text, other]] {
            try expectSame(list, top: Self.base)
        }
        try expectSame([text])
        try expectSame([text], origin: .url(try SourceURL("https://u:p@h.example/m.json")))
        try expectSame([text], top: #""base":"https://u:p@h.example/x","#)
    }

    @Test(arguments: [
        "https://h.example/a/b", "https://h.example:8443/x", "http://h.example/x",
        "HTTPS://h.example/x", "https://H.example/x", "https://u@h.example/x",
        "https://u:p@h.example/x", "https://h.example//x", "https://h.example/",
        "https://h.example", "https://h.example/.x", "https://h.example/../x",
        "https://h.example/a%20b", "https://h.example/x?q=1", "https://h.example:443/x",
        "https://h.example:99999/x", "https://h.example:/x", "https://h..example/x",
        "https://127.0.0.1:8080/x", "https://[::1]/x", "https://h.example/other.example/x",
        "https://h_x.example/x", "https:///x", "https://:80/x", "file:///x/y", "ftp://h/x",
    ])
    func plainReaderAgreesOnResourcesOfOneHost(_ url: String) throws {
        let objects = [
            #"{"path":"Caches/1","url":"URL"}"#, #"{"path":"Caches/2","url":"URL2","size":5}"#,
            #"{"path":"Caches/3","url":"https://h.example/a/3","sha256":"HEX"}"#,
            #"{"path":"Documents/a/b4","url":"URL4","sha256":"HEX"}"#,
            #"{"path":"Caches/5","url":"five"}"#,
        ].map { $0.replacing("URL", with: url).replacing("HEX", with: Self.hex) }
        for list in [objects, Array(objects.dropLast()), objects.reversed()] {
            try expectSame(list)
            try expectSame(list, top: Self.base)
            try expectSame(list, origin: .url(try SourceURL("https://u:p@h.example/m.json")))
            try expectSame(list, origin: .standardInput)
        }
    }

    @Test func plainReaderAgreesOnResourcesOfManyKinds() throws {
        let objects = (0..<60).map {
            #"{"path":"Caches/\#($0)","url":"https://h\#($0 % 20).example/\#($0)"}"#
        }
        try expectSame(objects)
        let kinds = (0..<60).map {
            #"{"path":"Caches/\#($0)","url":"\#($0)","refresh":"\#($0 % 20)d"}"#
        }
        try expectSame(kinds, top: Self.base)
    }

    @Test func defaultsAndWhatStandsBetweenResourcesChangeNothing() throws {
        let objects = (0..<7).map { #"{"path":"Caches/d/\#($0)","url":"d/\#($0)","size":\#($0)}"# }
        let defaults =
            #""defaults":{"refresh":"6h","priority":4,"tags":["t"],"headers":{"Accept":"*/*"}},"#
        for separator in [",", " ,\r\n\t", ",\n\n  ", ", // why\n", " ", ",,"] {
            try expectSame(objects, top: Self.base + defaults, separator: separator)
        }
    }

    /// Chunks end anywhere in a long text, and the places of what follows stay right.
    @Test func plainReaderAgreesWhereverChunksEnd() throws {
        var random = SplitMix64(seed: 7)
        var objects: [String] = []
        for number in 0..<3000 {
            var members = [
                #""path":"Caches/\#(number / 100)/é\#(number).bin""#,
                #""url":"\#(number / 100)/\#(number).bin""#,
            ]
            if number % 5 > 0 { members[0] = members[0].replacing("é", with: "") }
            if number % 3 > 0 { members.append(#""size":\#(number * 977)"#) }
            if number % 7 > 0 {
                let hex = (0..<64).map { _ in "0123456789abcdef".randomElement(using: &random) }
                members.append("\"sha256\":\"\(String(hex.compactMap(\.self)))\"")
            }
            members.shuffle(using: &random)
            let space = ["", " ", "\n  "].randomElement(using: &random) ?? ""
            objects.append("{" + members.joined(separator: "," + space) + "}")
        }
        try expectSame(objects, top: Self.base)
        // Equal and colliding targets are found behind the short way too.
        try expectSame(objects + [objects[0], #"{"path":"caches/1","url":"x"}"#], top: Self.base)
        let folder = #"{"path":"Caches/2","url":"x"}"#
        let other = #"{"path":"Caches/3/305.BIN","url":"y"}"#
        try expectSame(objects + [folder, other], top: Self.base)
    }
}
