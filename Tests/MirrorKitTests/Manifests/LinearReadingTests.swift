import Glibc
@testable import MirrorKit
import Testing

/// Reading takes time in proportion to the length of a text, whatever it has very many of.
///
/// Each text is made with n and with 10 n of something. Ten times as long takes about ten times the
/// processor time of this thread, and with a hidden square a hundred times. The limit lies between.
@Suite struct LinearReadingTests {
    /// A text, by how many of something it has.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var count = 500
        /// Whether it is a page of a web server.
        var isPage = false
        let text: @Sendable (Int) -> String

        var testDescription: String { name }
    }

    @Test(arguments: cases)
    func tenfoldLengthTakesAboutTenfoldTime(_ given: Case) throws {
        let short = Array(given.text(given.count).utf8)
        let long = Array(given.text(10 * given.count).utf8)
        var ratios: [Double] = []
        // Only the machine can make a linear reading look slow, and not three times on end.
        for _ in 1...3 {
            let time = { (text: [UInt8]) in
                given.isPage ? try self.time(toPage: text) : try self.time(to: text)
            }
            let ratio = try time(long) / max(min(try time(short), try time(short)), 1e-4)
            ratios.append(ratio)
            if ratio < 25 { return }
        }
        Issue.record("\(given.name): \(ratios) times as long")
    }

    /// The processor time in seconds that reading a text takes; whether it is refused does not matter.
    private func time(to bytes: [UInt8]) throws -> Double {
        let hint = try ListHint(
            format: nil, base: try SourceURL("https://b.example/"),
            index: try SourceURL("https://i.example/simple/"))
        let start = now
        do {
            _ = try ManifestReader.read(bytes, label: "m", origin: .file(path: "/m"), hint: hint)
        } catch _ as ManifestError {
            do {
                _ = try ManifestReader.read(bytes, label: "m", origin: .file(path: "/m"))
            } catch _ as ManifestError {}
        }
        return now - start
    }

    /// The same for a directory listing.
    private func time(toPage bytes: [UInt8]) throws -> Double {
        let origin = ManifestOrigin.url(try SourceURL("https://h.example/pub/"))
        let start = now
        do {
            _ = try ManifestReader.read(bytes, label: "m", origin: origin)
        } catch _ as ManifestError {}
        return now - start
    }

    private var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    // MARK: Texts

    private static let cases: [Case] = [
        json("mirrors") { "\"mirrors\": [\(each($0) { "\"https://m\($0).example/a\"" })]" },
        json("mirrors of one origin, with headers") {
            """
            "headers": {\(each($0) { "\"X-\($0)\": \"v\"" })},
            "mirrors": [\(each($0) { "{ \"url\": \"/\($0)\", \"headers\": { \"Y\": \"\" } }" })]
            """
        },
        json("headers") { "\"headers\": {\(each($0) { "\"X-\($0)\": \"v\"" })}" },
        json("tags") { "\"tags\": [\(each($0) { "\"t\($0)\"" })]" },
        json("unknown keys") { each($0) { "\"k\($0)\": 1" } },
        json("pieces") {
            "\"pieces\": { \"length\": 1, \"sha256\": [\(each($0) { "\"\(hex($0))\"" })] }"
        },
        json("variables") {
            "\"method\": \"POST\", \"body\": \"\(each($0, "") { _ in "$${A}" })\""
        },
        json("digests of an integrity") {
            "\"integrity\": \"\(each($0, " ") { _ in "sha256-" + String(repeating: "A", count: 43) + "=" })\""
        },
        Case(name: "default headers of many resources") { count in
            """
            { "defaults": { "headers": {\(each(count) { "\"X-\($0)\": \"v\"" })} },
              "resources": [\(each(count) { "{ \"url\": \"https://h.example/\($0)\", \"headers\": { \"Y\": \"\" } }" })] }
            """
        },
        Case(name: "default tags of many resources") { count in
            """
            { "defaults": { "tags": [\(each(count) { "\"t\($0)\"" })] },
              "resources": [\(each(count) { "{ \"url\": \"https://h.example/\($0)\", \"tags\": [\"y\"] }" })] }
            """
        },
        Case(name: "resources of one URL") { count in
            "{ \"resources\": [\(each(count) { "{ \"path\": \"tmp/\($0)\", \"url\": \"https://h.example/a\", \"sha256\": \"\(hex($0))\" }" })] }"
        },
        Case(name: "two resources with the same mirrors") { count in
            let mirrors = each(count) { "\"https://m\($0).example/a\"" }
            return """
                { "resources": [\(each(2) {
                    "{ \"url\": \"https://h.example/\($0)\", \"sha256\": \"\(hex(1))\", \"mirrors\": [\(mirrors)] }"
                })] }
                """
        },
        Case(name: "resources of one target") { count in
            "{ \"resources\": [\(each(count) { _ in "{ \"url\": \"https://h.example/a\" }" })] }"
        },
        xml("elements in one line", count: 100) {
            each($0, "") { "<resource url=\"https://h.example/\($0)\"/>" }
        },
        xml("mirrors in XML", count: 100) {
            "<resource url=\"https://h.example/a\">"
                + each($0, "") { "<mirror url=\"https://m\($0).example/a\"/>" } + "</resource>"
        },
        xml("headers in XML") {
            "<resource url=\"https://h.example/a\">"
                + each($0, "") { "<header name=\"X-\($0)\" value=\"v\"/>\n" } + "</resource>"
        },
        xml("attributes", count: 8000) {
            "<resource url=\"https://h.example/a\" \(each($0, " ") { "x-\($0)=\"v\"" })/>"
        },
        xml("namespaces", count: 8000) {
            "<resource url=\"https://h.example/a\" \(each($0, " ") { "xmlns:n\($0)=\"v\"" })/>"
        },
        xml("tags in XML") {
            "<resource url=\"https://h.example/a\" tags=\"\(each($0, " ") { "t\($0)" })\"/>"
        },
        Case(name: "Metalink 4", count: 100) {
            "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"><file name=\"a\">"
                + each($0, "") { "<url>https://m\($0).example/a</url>" } + "</file></metalink>"
        },
        Case(name: "Metalink 3", count: 100) {
            "<metalink xmlns=\"http://www.metalinker.org/\"><files><file name=\"a\"><resources>"
                + each($0, "") { "<url type=\"http\">https://m\($0).example/a</url>" }
                + "</resources></file></files></metalink>"
        },
        Case(name: "S3", count: 100) {
            "<ListBucketResult>"
                + each($0, "") { "<Contents><Key>k\($0)</Key><Size>1</Size></Contents>" }
                + "</ListBucketResult>"
        },
        Case(name: "repomd", count: 100) {
            "<repomd xmlns=\"http://linux.duke.edu/metadata/repo\">"
                + each($0, "") { "<data><location href=\"d\($0)\"/></data>" } + "</repomd>"
        },
        Case(name: "sources of aria2") { each($0, "\t") { "https://m\($0).example/a" } + "\n" },
        Case(name: "headers of aria2") {
            "https://h.example/a\n" + each($0, "") { " header=X-\($0): v\n" }
        },
        Case(name: "options of aria2") {
            "https://h.example/a\n" + each($0, "") { " o\($0)=v\n" }
        },
        Case(name: "sources of one file in many lines") {
            each($0, "") { "https://h.example/a\thttps://m\($0).example/a\n" }
        },
        Case(name: "schemes") { "https://h.example/a\n" + each($0, "") { "x\($0)://h/a\n" } },
        Case(name: "URLs that end alike") {
            each($0, "") { "https://h.example/\($0)/a\nhttps://h.example/\($0)/A\n" }
        },
        Case(name: "folders that differ in case") {
            each($0, "") {
                "https://h.example/x\($0) 1 data/d\($0)/a\nhttps://h.example/y 1 data/D\($0)/b\n"
            }
        },
        Case(name: "folders that are files") {
            each($0, "") {
                "https://h.example/x\($0) 1 data/d\($0)/a\nhttps://h.example/y 1 data/d\($0)\n"
            }
        },
        Case(name: "versions of one project") {
            each($0, "") { "a==\($0) --hash=sha256:\(hex($0))\n" }
        },
        Case(name: "entries that are left out") { each($0, "") { "ftp://h\($0).example/a\n" } },
        page("links") { "<a href=\"f\($0)\">f</a> 1\n" },
        page("links of one file") { _ in "<a href=f>f</a>\n" },
        page("folders") { "<a href=f\($0)/>f</a>\n" },
        page("open elements") { _ in "<div><b>" },
        page("comments that do not end") { _ in "<!-- x -- y > " },
        page("less-than signs") { _ in "<<" },
        page("character references") { _ in "&amp;&lt;&x" },
        Case(name: "attributes of an element of a page", isPage: true) { count in
            "<title>Index of</title><a \(each(count, " ") { "a\($0)=x" }) href=f>f</a>"
        },
        Case(name: "URLs") { each($0, "") { "https://h.example/\($0)\n" } },
        Case(name: "sums") { each($0, "") { "\(hex($0))  a\($0)\n" } },
        Case(name: "BagIt") { each($0, "") { "\(hex($0))  data/\($0)\n" } },
        Case(name: "fetch.txt") { each($0, "") { "https://h.example/\($0) 1 data/\($0)\n" } },
        Case(name: "pooch") { each($0, "") { "a\($0) x\($0):00 https://h.example/\($0)\n" } },
        Case(name: "go.sum") { each($0, "") { "h.example/m\($0) v1.0.0 h1:x=\n" } },
        Case(name: "requirements in one line") {
            "a @ https://h.example/a.whl " + each($0, " ") { _ in "--hash=sha256:\(hex(1))" } + "\n"
        },
        Case(name: "requirements with line ends") {
            "a @ https://h.example/a.whl \\\n"
                + each($0, "") { _ in "  --hash=sha256:\(hex(1)) \\\n" } + "\n"
        },
        Case(name: "Packages") { each($0, "\n") { "Package: p\($0)\nFilename: p/\($0).deb\n" } },
        Case(name: "APKINDEX") { each($0, "") { "C:Q1x=\nP:p\($0)\nV:1\n\n" } },
        Case(name: "pacman") {
            each($0, "") { "%FILENAME%\np\($0).pkg\n\n%NAME%\np\($0)\n\n" }
        },
        Case(name: "Release") {
            "Suite: s\nSHA256:\n" + each($0, "") { " \(hex($0)) 1 main/\($0)\n" }
        },
        Case(name: "Cargo.lock of version 1") { count in
            let registry = "registry+https://github.com/rust-lang/crates.io-index"
            return each(count, "") {
                "[[package]]\nname = \"p\($0)\"\nversion = \"1\"\nsource = \"\(registry)\"\n"
            } + "[metadata]\n"
                + each(count, "") { "\"checksum p\($0) 1 (\(registry))\" = \"\(hex($0))\"\n" }
        },
        Case(name: "uv.lock") { count in
            "version = 1\n[[package]]\nname = \"p\"\nsource = { \(each(count) { "k\($0) = 1" }) }\nwheels = ["
                + each(count) { "{ url = \"https://h.example/\($0).whl\" }" } + "]\n"
        },
        Case(name: "pylock.toml") {
            "lock-version = \"1.0\"\n"
                + each($0, "") {
                    "[[packages]]\nname = \"p\($0)\"\narchive = { url = \"https://h.example/\($0)\" }\n"
                }
        },
        Case(name: "npm") {
            "{ \"lockfileVersion\": 3, \"packages\": {"
                + each($0) {
                    "\"node_modules/p\($0)\": { \"resolved\": \"https://h.example/\($0).tgz\" }"
                }
                + "} }"
        },
        Case(name: "npm of version 1") {
            "{ \"lockfileVersion\": 1, \"dependencies\": {"
                + each($0) { "\"p\($0)\": { \"version\": \"1.0.\($0)\" }" } + "} }"
        },
        Case(name: "yarn.lock") {
            "# yarn lockfile v1\n"
                + each($0, "") {
                    "p\($0)@1:\n  version \"1.0.0\"\n  resolved \"https://h.example/\($0)\"\n"
                }
        },
        Case(name: "names of a package in yarn.lock") {
            "# yarn lockfile v1\n" + each($0, ", ") { "p@\($0)" } + ":\n  version \"1.0.0\"\n"
        },
        Case(name: "pnpm-lock.yaml") {
            "lockfileVersion: '9.0'\npackages:\n"
                + each($0, "") {
                    "  p\($0)@1.0.0:\n    resolution: {tarball: https://h.example/\($0)}\n"
                }
        },
        Case(name: "resolution of pnpm-lock.yaml") {
            "lockfileVersion: '9.0'\npackages:\n  p@1.0.0:\n    resolution: {"
                + each($0) { "k\($0): 1" } + "}\n"
        },
        Case(name: "Gemfile.lock") {
            "GEM\n  remote: https://g.example/\n  specs:\n" + each($0, "") { "    p\($0) (1.0)\n" }
                + "\nCHECKSUMS\n" + each($0, "") { "  p\($0) (1.0) sha256=\(hex($0))\n" }
        },
        Case(name: "conda") {
            "@EXPLICIT\n" + each($0, "") { "https://h.example/noarch/p\($0).conda#\(hex($0))\n" }
        },
        Case(name: "poetry.lock") {
            each($0, "") {
                "[[package]]\nname = \"p\($0)\"\nversion = \"1\"\nfiles = [{hash = \"sha256:\(hex($0))\"}]\n"
                    + "[package.source]\ntype = \"legacy\"\nurl = \"https://i.example/simple\"\n"
            } + "[metadata]\ncontent-hash = \"x\"\n"
        },
        Case(name: "versions of one package in poetry.lock") {
            each($0, "") {
                "[[package]]\nname = \"p\"\nversion = \"\($0)\"\nfiles = [{hash = \"sha256:\(hex($0))\"}]\n"
                    + "[package.source]\ntype = \"legacy\"\nurl = \"https://i.example/simple\"\n"
            } + "[metadata]\ncontent-hash = \"x\"\n"
        },
        Case(name: "Pipfile.lock") {
            "{ \"_meta\": { \"sources\": [{ \"url\": \"https://i.example/simple\" }] }, \"default\": {"
                + each($0) { "\"p\($0)\": { \"hashes\": [\"sha256:\(hex($0))\"] }" } + "} }"
        },
        Case(name: "composer.lock") {
            "{ \"content-hash\": \"\", \"packages\": ["
                + each($0) {
                    "{ \"name\": \"a/p\($0)\", \"dist\": { \"url\": \"https://h.example/\($0)\" } }"
                } + "] }"
        },
        Case(name: "sources of one path in fetch.txt") {
            each($0, "") { "https://m\($0).example/a 1 data/a\n" }
        },
        Case(name: "signed sums") {
            "-----BEGIN PGP SIGNED MESSAGE-----\n\n" + each($0, "") { "- \(hex($0))  a\($0)\n" }
        },
        Case(name: "quoted names of pooch") { each($0, "") { "\"a \($0)\" \(hex($0))\n" } },
        Case(name: "components of CycloneDX") {
            "{ \"bomFormat\": \"CycloneDX\", \"components\": ["
                + each($0) {
                    "{ \"name\": \"p\($0)\", \"externalReferences\": [{ \"type\": \"distribution\", \"url\": \"https://h.example/a\" }] }"
                } + "] }"
        },
        Case(name: "CycloneDX") {
            "{ \"bomFormat\": \"CycloneDX\", \"components\": [{ \"externalReferences\": [{ \"type\": \"distribution\", \"url\": \"https://h.example/a\", \"hashes\": ["
                + each($0) { "{ \"alg\": \"x\($0)\", \"content\": \"00\" }" } + "] }] }] }"
        },
        Case(name: "flatpak") {
            "[{ \"type\": \"file\", \"url\": \"https://h.example/a\", \"sha256\": \"\(hex(1))\", \"mirror-urls\": ["
                + each($0) { "\"https://m\($0).example/a\"" } + "] },"
                + each($0) { "{ \"type\": \"x\($0)\" }" } + "]"
        },
        Case(name: "GitHub") {
            "{ \"assets\": ["
                + each($0) {
                    "{ \"browser_download_url\": \"https://h.example/\($0)\", \"digest\": \"x\($0):00\" }"
                }
                + "] }"
        },
        Case(name: "Hugging Face") {
            "[" + each($0) { "{ \"type\": \"file\", \"path\": \"a\($0)\", \"size\": 1 }" } + "]"
        },
    ]

    private static func page(_ name: String, _ part: @escaping @Sendable (Int) -> String) -> Case {
        Case(name: "\(name) of a page", isPage: true) { count in
            "<!DOCTYPE html><title>Index of</title><a href=a>a</a>" + each(count, "", part)
        }
    }

    private static func json(_ name: String, _ keys: @escaping @Sendable (Int) -> String) -> Case {
        Case(name: name) {
            "{ \"resources\": [{ \"url\": \"https://h.example/a\", \(keys($0)) }] }"
        }
    }

    private static func xml(
        _ name: String, count: Int = 500, _ elements: @escaping @Sendable (Int) -> String
    ) -> Case {
        Case(name: name, count: count) { "<manifest name=\"m\">\(elements($0))</manifest>" }
    }

    private static func each(
        _ count: Int, _ separator: String = ",", _ text: (Int) -> String
    ) -> String {
        (0..<count).map(text).joined(separator: separator)
    }

    private static func hex(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }
}
