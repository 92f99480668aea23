internal import MirrorTestSupport

/// Tokens and logins.
extension SecretCase {
    static let all =
        tokens + redirects + segments + trickyPlaces + logins + queries + proxies + cookies
        + manifests + buckets + substitutes

    static let bearer = "\"headers\":{\"Authorization\":\"Bearer ${TOKEN}\"}"
    static let granted = ["--env", "TOKEN@%A%"]

    static func withToken(
        _ title: String, _ change: (inout SecretCase) -> Void
    ) -> SecretCase {
        SecretCase(title) {
            $0.resources = ["\"url\":\"%A%/a\",\(bearer)"]
            $0.options = granted
            $0.seen = [.token: ["A /a"]]
            change(&$0)
        }
    }

    static let tokens: [SecretCase] =
        [
            withToken("a token to its origin") { _ in },
            withToken("a token of the credentials folder") { $0.hasCredentialsFolder = true },
            SecretCase("a token that is not granted") {
                $0.resources = ["\"url\":\"%A%/a\",\(bearer)"]
                $0.seen = [:]
                $0.exit = 65
            },
            withToken("a token that is granted to another origin") {
                $0.options = ["--env", "TOKEN@%B%"]
                $0.seen = [:]
                $0.exit = 65
            },
            withToken("a mirror at another origin gets no header") {
                $0.resources = ["\"url\":\"%A%/a\",\(bearer),\"mirrors\":[\"%B%/b\"]"]
                $0.routes = ["A /a": "404", "B /b": "200"]
            },
            withToken("a mirror gets its own header") {
                $0.resources = [
                    "\"url\":\"%A%/a\",\(bearer),\"mirrors\":[{\"url\":\"%B%/b\","
                        + "\"headers\":{\"X-Key\":\"${SECOND}\"}}]"
                ]
                $0.options += ["--env", "SECOND@%B%"]
                $0.routes = ["A /a": "404", "B /b": "200"]
                $0.seen[.second] = ["B /b"]
            },
            withToken("two resources of two origins") {
                $0.resources.append(
                    "\"url\":\"%B%/b\",\"headers\":{\"X-Key\":\"${SECOND}\"}")
                $0.options += ["--env", "SECOND@%B%"]
                $0.routes["B /b"] = "200"
                $0.seen[.second] = ["B /b"]
            },
            withToken("a token in the body of a POST") {
                $0.resources = ["\"url\":\"%A%/a\",\"method\":\"POST\",\"body\":\"key=${TOKEN}\""]
            },
            withToken("a POST sent on by 307") {
                $0.resources = ["\"url\":\"%A%/a\",\"method\":\"POST\",\"body\":\"key=${TOKEN}\""]
                $0.routes = ["A /a": "307 %B%/b", "B /b": "200"]
                $0.exit = 1
            },
            withToken("a POST sent on by 303") {
                $0.resources = [
                    "\"url\":\"%A%/a\",\"method\":\"POST\",\"body\":\"key=${TOKEN}\",\(bearer)"
                ]
                $0.routes = ["A /a": "303 %B%/b", "B /b": "200"]
            },
            withToken("a token in a Cookie of the manifest") {
                $0.resources = ["\"url\":\"%A%/a\",\"headers\":{\"Cookie\":\"k=${TOKEN}\"}"]
                $0.routes = ["A /a": "302 %B%/b", "B /b": "200"]
            },
        ]
        + ["401", "403", "407", "500", "503", "cut", "html", "gzip", "garbage"].map { answer in
            withToken("a token, answered by \(answer)") {
                $0.routes = ["A /a": answer]
                $0.exit = ["500", "503", "cut", "html"].contains(answer) ? 69 : 1
            }
        }

    static let redirects: [SecretCase] =
        ["301", "302", "303", "307", "308"].map { code in
            withToken("\(code) to another origin") {
                $0.routes = ["A /a": "\(code) %B%/b", "B /b": "200"]
            }
        } + [
            withToken("a redirect to another origin and back") {
                $0.routes = ["A /a": "302 %B%/b", "B /b": "302 %A%/c", "A /c": "200"]
            },
            withToken("a redirect to another origin and back to the same path") {
                $0.routes = ["A /a": "302 %B%/b", "B /b": "302 %A%/a?2", "A /a?2": "200"]
            },
            withToken("a redirect to another origin, and on within it") {
                $0.routes = ["A /a": "302 %B%/b", "B /b": "302 /c", "B /c": "200"]
            },
            withToken("a redirect to another origin, and on within it by a whole URL") {
                $0.routes = ["A /a": "307 %B%/b", "B /b": "307 %B%/c?2", "B /c": "200"]
            },
            withToken("a redirect through three origins and back to the second") {
                $0.routes = [
                    "A /a": "302 %B%/b", "B /b": "302 %P%/p", "P /p": "302 %B%/c", "B /c": "200",
                ]
            },
            withToken("a redirect within the origin") {
                $0.routes = ["A /a": "302 /c", "A /c": "200"]
                $0.seen = [.token: ["A /a", "A /c"]]
            },
            withToken("a redirect within the origin, then to another") {
                $0.routes = ["A /a": "302 /c", "A /c": "302 %B%/b", "B /b": "200"]
                $0.seen = [.token: ["A /a", "A /c"]]
            },
            withToken("a redirect to an origin that fails") {
                $0.routes = ["A /a": "302 %B%/b?s=%signature%", "B /b": "403"]
                $0.seen[.signature] = ["B /b"]
                $0.exit = 1
            },
            withToken("redirects in a circle of two origins") {
                $0.routes = ["A /a": "302 %B%/b", "B /b": "302 %A%/c", "A /c": "302 %B%/b"]
                $0.exit = 1
            },
        ]

    /// Places that look like the first origin and are not, and one that is.
    static let trickyPlaces: [SecretCase] =
        [
            "//%b%/b", "http://%a%@%b%/b", "http://user:pw@%b%/b", "http:%5C%5C%b%/b",
            "%B%/b#@%a%/",
        ].map { place in
            withToken("a redirect to \(place)") {
                $0.routes = ["A /a": "302 \(place)", "B /b": "200"]
                if place.contains("%5C") { $0.exit = 1 }
            }
        } + [
            withToken("a redirect to another name of the host") {
                $0.routes = ["A /a": "302 http://localhost:%port%/c", "A /c": "200"]
            },
            withToken("a redirect to the same origin in capitals") {
                $0.routes = ["A /a": "302 HTTP://%a%/c", "A /c": "200"]
                $0.seen = [.token: ["A /a", "A /c"]]
            },
        ]

    static let netrc = ["--netrc-file", "%DIR%/netrc"]

    static let logins: [SecretCase] =
        [
            SecretCase("a netrc login") {
                $0.options = netrc
                $0.seen = [.netrc: ["A /a"]]
            },
            SecretCase("a netrc of the home folder") {
                $0.options = ["--netrc"]
                $0.seen = [.netrc: ["A /a"]]
            },
            SecretCase("a netrc that nobody asked for") { _ in },
            SecretCase("a netrc login and a redirect to a port of the same machine") {
                $0.options = netrc
                $0.routes = ["A /a": "302 %B%/b", "B /b": "200"]
                $0.seen = [.netrc: ["A /a"]]
            },
            SecretCase("a netrc login, a redirect, and back") {
                $0.options = netrc
                $0.routes = ["A /a": "302 %B%/b", "B /b": "302 %A%/c", "A /c": "200"]
                $0.seen = [.netrc: ["A /a"]]
            },
            SecretCase("a netrc login, a redirect, and on within the other origin") {
                $0.options = netrc
                $0.routes = ["A /a": "302 %B%/b", "B /b": "302 /c", "B /c": "200"]
                $0.seen = [.netrc: ["A /a"]]
            },
            SecretCase("a login in the URL, a redirect, and on within the other origin") {
                $0.resources = ["\"url\":\"http://user:%login%@%a%/a\""]
                $0.routes = ["A /a": "302 %B%/b", "B /b": "302 /c", "B /c": "200"]
                $0.seen = [.login: ["A /a"]]
            },
            SecretCase("a netrc login for a mirror of the manifest") {
                $0.options = netrc
                $0.resources = ["\"url\":\"%A%/a\",\"mirrors\":[\"%B%/b\"]"]
                $0.routes = ["A /a": "404", "B /b": "200"]
                $0.seen = [.netrc: ["A /a", "B /b"]]
            },
            SecretCase("a netrc login that is refused") {
                $0.options = netrc
                $0.routes = ["A /a": "401"]
                $0.seen = [.netrc: ["A /a"]]
                $0.exit = 1
            },
            SecretCase("a login in the URL") {
                $0.resources = ["\"url\":\"http://user:%login%@%a%/a\""]
                $0.seen = [.login: ["A /a"]]
            },
            SecretCase("a login in the URL and a redirect") {
                $0.resources = ["\"url\":\"http://user:%login%@%a%/a\""]
                $0.routes = ["A /a": "302 %B%/b", "B /b": "302 %A%/c", "A /c": "200"]
                $0.seen = [.login: ["A /a"]]
            },
            SecretCase("a login in a mirror's URL") {
                $0.resources = [
                    "\"url\":\"%A%/a\",\"mirrors\":[\"http://user:%login%@%b%/b\"]"
                ]
                $0.routes = ["A /a": "404", "B /b": "200"]
                $0.seen = [.login: ["B /b"]]
            },
        ]
        + ["401", "404", "503", "cut", "html"].map { answer in
            SecretCase("a login in the URL, answered by \(answer)") {
                $0.resources = ["\"url\":\"http://user:%login%@%a%/a\""]
                $0.routes = ["A /a": answer]
                $0.seen = [.login: ["A /a"]]
                $0.exit = ["503", "cut", "html"].contains(answer) ? 69 : 1
            }
        } + [
            SecretCase("a login in the URL of nobody") {
                $0.resources = ["\"url\":\"http://user:%login%@127.0.0.1:1/a\""]
                $0.exit = 69
            },
            SecretCase("a login in the base") {
                $0.resources = ["\"url\":\"http://user:%login%@%a%/a\",\"sha256\":\"zz\""]
                $0.exit = 65
            },
        ]
}
