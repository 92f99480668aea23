internal import MirrorTestSupport

/// Manifests that must be refused: made from good ones by every kind of damage.
struct HostileManifests {
    struct Hostile {
        let title: String
        let bytes: [UInt8]

        init(_ title: String, _ text: String) { self.init(title, Array(text.utf8)) }

        init(_ title: String, _ bytes: [UInt8]) {
            self.title = title
            self.bytes = bytes
        }
    }

    /// A URL that answers, so that a manifest that is taken by mistake is seen to be.
    let url: String

    var all: [Hostile] { json + xml + metalink }

    private static let hex = String(repeating: "ab", count: 32)

    /// Values that are wrong for a key in whichever notation.
    private var badValues: [(key: String, values: [String])] {
        [
            ("path", HostileNames.refusedTargets),
            (
                "url",
                [
                    "", "ftp://h/a", "gopher://h/a", "javascript:alert(1)", "data:,a",
                    "http://",
                    "http:///a", "http://h:99999/a", "http://h:-1/a", "http://[::1/a",
                    "http://h h/a",
                    "http://h/a\r\nX: y", "http://h/\u{1}", "dict://h/a", "smb://h/a", "ldap://h/a",
                    "http://%00/a", "http://h:80:80/a", "https://", "telnet://h", "scp://h/a",
                ]
            ),
            (
                "sha256",
                [
                    "", "0", "sha256:" + Self.hex, Self.hex + "0", String(Self.hex.dropLast()),
                    Self.hex.replacing("a", with: "g"), " " + Self.hex, Self.hex + " ",
                    String(repeating: "0", count: 128), String(repeating: "é", count: 32),
                    String(repeating: "0", count: 100_000), "null", "0x" + Self.hex.dropLast(2),
                ]
            ),
            ("sha512", ["", Self.hex, String(repeating: "0", count: 127)]),
            ("sha1", ["", Self.hex, String(repeating: "0", count: 39)]),
            ("md5", ["", Self.hex, String(repeating: "0", count: 31)]),
            (
                "integrity",
                [
                    "", "sha512", "sha512-", "sha512-%%%%", "sha999-AAAA", "sha256-AAAA", "md5",
                    "sha512-" + Self.hex, "sha384", "-",
                    "sha256-" + String(repeating: "A", count: 45),
                ]
            ),
            (
                "refresh",
                [
                    "", "sometimes", "-1h", "1y", "h", "1.5h", "1 h", "99999999999999999999d",
                    "6H6",
                    "٣h", "0x1h", "1h ", "+1h", "NaN",
                ]
            ),
            ("method", ["", "PUT", "DELETE", "get", "POST\r\nX: y", "CONNECT", "GET ", "TRACE"]),
            ("type", ["", "text", "/", "text/", "/html", "text/html\r\nX: y", "te xt/html"]),
        ]
    }

    // MARK: JSON

    private func resource(_ extra: String) -> String {
        "{\"version\":1,\"name\":\"h\",\"resources\":[{\"url\":\"\(url)\"\(extra)}]}"
    }

    private var json: [Hostile] {
        jsonValues + jsonTypes + jsonShapes + jsonBytes + jsonCuts
    }

    private var jsonValues: [Hostile] {
        badValues.flatMap { key, values in
            values.map { value in
                let quoted = JSONText.quoted(value)
                let text =
                    key == "url"
                    ? "{\"name\":\"h\",\"resources\":[{\"url\":\(quoted),\"path\":\"tmp/a\"}]}"
                    : resource(",\"\(key)\":\(quoted)")
                return Hostile("JSON \(key) \(quoted.prefix(60))", text)
            }
        }
    }

    private var jsonTypes: [Hostile] {
        let wrong: [(keys: [String], values: [String])] = [
            (
                ["path", "sha256", "sha512", "integrity", "type", "refresh", "method", "body"],
                ["1", "true", "null", "[]", "{}", "-1.5e3", "[\"a\"]"]
            ),
            (
                ["size"],
                [
                    "\"12\"", "-1", "1.5", "1e400", "9223372036854775808", "null", "true", "[]",
                    "{}",
                    "01", "+1", ".5", "0x10", "NaN", "Infinity", "-", "1e",
                    String(repeating: "9", count: 10_000),
                ]
            ),
            (["priority"], ["\"1\"", "null", "{}", "1.5", "99999999999999999999"]),
            (["executable", "optional"], ["\"true\"", "1", "0", "null", "[]", "{}", "True"]),
            (["headers"], ["[]", "\"a\"", "1", "null", "{\"a\":1}", "{\"a\":[]}", "{\"\":\"a\"}"]),
            (["tags"], ["{}", "1", "null", "[1]", "[null]", "[[\"a\"]]"]),
            (["mirrors"], ["{}", "1", "null", "[1]", "[null]", "[{}]", "[\"ftp://h/\"]", "[[]]"]),
            (
                ["pieces"],
                [
                    "[]", "1", "{}", "{\"length\":0,\"sha256\":[]}",
                    "{\"length\":-1,\"sha256\":[\"\"]}",
                    "{\"length\":1}", "{\"length\":\"1\",\"sha256\":[]}", "null",
                ]
            ),
        ]
        return wrong.flatMap { keys, values in
            keys.flatMap { key in
                values.map {
                    Hostile("JSON \(key): \($0.prefix(40))", resource(",\"\(key)\":\($0)"))
                }
            }
        }
            + [
                "Range", "If-Match", "If-Range", "If-None-Match", "Accept-Encoding", "Host",
                "Content-Length", "Transfer-Encoding", "TE", "Trailer", "Connection", "Upgrade",
                "Expect", "Proxy-Authorization", "proxy-connection", "a b", "a:", "é", "a\\r\\nb",
                "a\\u0000", "(a)",
            ].map { Hostile("JSON header \($0)", resource(",\"headers\":{\"\($0)\":\"v\"}")) }
            + ["a\\r\\nX: y", "a\\n", "\\r", "\\u0000", "a\\u0007b"].map {
                Hostile("JSON header value \($0)", resource(",\"headers\":{\"A\":\"\($0)\"}"))
            }
    }

    private var jsonShapes: [Hostile] {
        let tops = [
            "", " ", "null", "1", "\"a\"", "[]", "true", "{}", "{\"resources\":null}",
            "{\"resources\":{}}", "{\"resources\":[1]}", "{\"resources\":[null]}",
            "{\"resources\":[{}]}", "{\"resources\":[[]]}", "{\"resources\":[],}",
            "{\"resources\":[}",
            "{\"resources\":[]}}", "{\"resources\":[]} x", "{'resources':[]}", "{resources:[]}",
            "{\"resources\":[] /* c */}", "// c\n{\"resources\":[]}", "{\"resources\":[]}\u{0}",
            "{\"resources\":[],\"resources\":[]}", "{\"version\":2,\"resources\":[]}",
            "{\"version\":\"1\",\"resources\":[]}", "{\"version\":-1,\"resources\":[]}",
            "{\"version\":1.5,\"resources\":[]}", "{\"name\":1,\"resources\":[]}",
            "{\"__proto__\":{},\"resources\":[]}", "{\"resource\":[]}",
            "{\"base\":\"ftp://h/\",\"resources\":[]}", "{\"base\":1,\"resources\":[]}",
            "{\"defaults\":[],\"resources\":[]}", "{\"defaults\":{\"url\":\"a\"},\"resources\":[]}",
            "{\"defaults\":{\"directory\":\"/etc\"},\"resources\":[]}",
            "{\"defaults\":{\"directory\":\"Caches/../..\"},\"resources\":[]}",
        ]
        let duplicates = ["url", "path", "size", "sha256", "refresh", "headers"].map {
            "\"\($0)\":\($0 == "size" ? "1" : $0 == "headers" ? "{}" : "\"x\"")"
        }
        let many = (0..<500).map { "{\"url\":\"ftp://h/\($0)\"}" }.joined(separator: ",")
        return tops.map { Hostile("JSON \($0.prefix(60))", $0) }
            + duplicates.map { Hostile("JSON twice \($0)", resource(",\($0),\($0)")) }
            + [65, 1000, 100_000, 1_000_000].flatMap { depth in
                ["[", "{\"a\":", "[{\"a\":"].map {
                    Hostile(
                        "JSON \($0) \(depth) deep",
                        "{\"resources\":" + String(repeating: $0, count: depth))
                }
            }
            + [
                Hostile("JSON 500 errors", "{\"resources\":[\(many)]}"),
                Hostile(
                    "JSON long key", "{\"" + String(repeating: "k", count: 4_000_000) + "\":1}"),
                Hostile(
                    "JSON long text",
                    resource(",\"size\":\"\(String(repeating: "1", count: 4_000_000))\"")),
                Hostile(
                    "JSON many keys", "{" + (0..<100_000).map { "\"k\($0)\":1," }.joined() + "}"),
                Hostile("JSON spaces", String(repeating: " ", count: 4_000_000)),
            ]
    }

    private static let badUTF8: [[UInt8]] = [
        [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80],
        [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF8, 0x88],
        [0xFF], [0xFE], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x98],
    ]

    private var jsonBytes: [Hostile] {
        let places = ["name", "path", "x-note"]
        let escapes = ["\\ud800", "\\udc00", "\\ud800\\ud800", "\\u12", "\\x41", "\\", "\\u{41}"]
        let raw = (0..<32).map { String(UnicodeScalar(UInt8($0))) }
        return places.flatMap { key in
            Self.badUTF8.map {
                Hostile(
                    "JSON bytes \($0) in \(key)",
                    Array("{\"\(key)\":\"".utf8) + $0 + Array("\",\"resources\":[]}".utf8))
            }
                + (escapes + raw).map {
                    Hostile(
                        "JSON \(Array($0.utf8)) in \(key)",
                        "{\"\(key)\":\"\($0)\",\"resources\":[]}")
                }
        }
    }

    private var jsonCuts: [Hostile] {
        let whole = Array(
            resource(",\"path\":\"Caches/é\",\"size\":1,\"tags\":[\"a\"],\"headers\":{\"A\":\"b\"}")
                .utf8)
        return stride(from: 1, to: whole.count, by: 2).map {
            Hostile("JSON cut at \($0)", Array(whole[..<$0]))
        }
    }

    // MARK: XML

    private func xml(_ attributes: String, _ content: String = "", before: String = "") -> String {
        "<?xml version=\"1.0\"?>\(before)<manifest version=\"1\" name=\"h\">"
            + "<resource url=\"\(url)\" \(attributes)>\(content)</resource></manifest>"
    }

    private var xml: [Hostile] {
        let values = badValues.flatMap { key, values in
            values.filter(XMLText.isAllowed).map { value in
                let attribute = "\(key)=\"\(XMLText.escaped(value))\""
                let text =
                    key == "url"
                    ? "<manifest><resource path=\"tmp/a\" \(attribute)/></manifest>"
                    : xml(attribute)
                return Hostile("XML \(attribute.prefix(60))", text)
            }
        }
        let whole = Array(
            xml("path=\"Caches/é\" size=\"1\"", "<header name=\"A\" value=\"b\"/>").utf8)
        let cuts = stride(from: 1, to: whole.count, by: 2).map {
            Hostile("XML cut at \($0)", Array(whole[..<$0]))
        }
        let laughs = (1..<10).map { "<!ENTITY l\($0) \"&l\($0 - 1);&l\($0 - 1);&l\($0 - 1);\">" }
        let types = [
            "<!DOCTYPE manifest>", "<!DOCTYPE manifest SYSTEM \"file:///etc/passwd\">",
            "<!DOCTYPE manifest SYSTEM \"\(url)\">",
            "<!DOCTYPE manifest PUBLIC \"-//x\" \"\(url)\">",
            "<!DOCTYPE manifest [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>",
            "<!DOCTYPE manifest [<!ENTITY % p SYSTEM \"\(url)\"> %p;]>",
            "<!DOCTYPE manifest [<!ENTITY l0 \"lol\">\(laughs.joined())]>",
            "<!DOCTYPE manifest [<!ATTLIST resource path CDATA \"/etc/passwd\">]>",
        ]
        let shapes = [
            "<a/>", "<manifest/><manifest/>", "<manifest", "<manifest>", "</manifest>",
            "<manifest/>x",
            "<manifest><resource/></manifest>", "<manifest>text</manifest>",
            "<manifest><x/></manifest>",
            "<manifest version=\"2\"/>", "<manifest version=\"one\"/>",
            "<manifest name=\"a\" name=\"b\"/>",
            "<manifest xmlns=\"urn:other\"><resource/></manifest>", "<manifest y=\"1\"/>",
            "<manifest>&undefined;</manifest>", "<manifest>&#0;</manifest>",
            "<manifest>&#xD800;</manifest>",
            "<manifest><!-- -- --></manifest>", "<manifest><![CDATA[x</manifest>",
            "<?xml version=\"9.9\"",
            "<manifest><defaults directory=\"/etc\"/></manifest>",
            "<manifest><defaults/><defaults/></manifest>", "<manifest a=b/>", "<manifest a/>",
        ]
        let contents = [
            "<header/>", "<header name=\"A\"/>", "<header name=\"Host\" value=\"a\"/>", "<mirror/>",
            "<mirror url=\"ftp://h/\"/>", "<pieces/>", "<pieces length=\"0\"/>",
            "<body><x/></body>",
            "<header name=\"A\" value=\"a&#13;&#10;b\"/>", "text", "<x/>", "<resource/>",
        ]
        return values + cuts + types.map { Hostile("XML \($0.prefix(60))", xml("", before: $0)) }
            + shapes.map { Hostile("XML \($0.prefix(60))", $0) }
            + contents.map { Hostile("XML \($0)", xml("", $0)) }
            + [
                "size=\"-1\"", "size=\"1.5\"", "size=\"x\"", "size=\"\"", "priority=\"x\"",
                "executable=\"1\"", "optional=\"yes\"", "size=\"9223372036854775808\"", "y=\"1\"",
            ].map { Hostile("XML \($0)", xml($0)) }
            + [100, 10_000, 1_000_000].map {
                Hostile("XML \($0) deep", "<manifest>" + String(repeating: "<a>", count: $0))
            }
            + Self.badUTF8.map {
                Hostile(
                    "XML bytes \($0)",
                    Array("<manifest name=\"".utf8) + $0 + Array("\"></manifest>".utf8))
            }
    }

    // MARK: Metalink

    private func metalink(_ name: String, _ content: String, before: String = "") -> String {
        "<?xml version=\"1.0\"?>\(before)<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">"
            + "<file name=\"\(XMLText.escaped(name))\">\(content)</file></metalink>"
    }

    private var metalink: [Hostile] {
        let link = "<url>\(url)</url>"
        let names = HostileNames.refusedBeneathCaches.filter(XMLText.isAllowed).map {
            Hostile("Metalink name \($0.prefix(60))", metalink($0, link))
        }
        let contents = [
            "", "<size>1</size>", link + "<size>-1</size>", link + "<size>x</size>",
            link + "<size>99999999999999999999</size>", link + "<hash type=\"sha-256\">zz</hash>",
            link + "<hash type=\"sha-256\">\(Self.hex)00</hash>",
            link + "<hash type=\"sha-512\">00</hash>",
            "<url>ftp://h/a</url>", "<url></url>", "<url priority=\"x\">\(url)</url>",
            "<url>http://u:p@</url>", link + "<pieces length=\"0\" type=\"sha-256\"/>",
            link + "<size>1</size><size>2</size>",
        ]
        let whole = Array(metalink("a", link).utf8)
        let cuts = stride(from: 1, to: whole.count, by: 2).map {
            Hostile("Metalink cut at \($0)", Array(whole[..<$0]))
        }
        return names + contents.map { Hostile("Metalink \($0.suffix(60))", metalink("a", $0)) }
            + cuts
            + [Hostile("Metalink DOCTYPE", metalink("a", link, before: "<!DOCTYPE metalink>"))]
    }
}
