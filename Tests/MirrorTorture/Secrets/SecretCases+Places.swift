internal import MirrorTestSupport

/// Queries, proxies, cookies, and manifests that come by URL.
extension SecretCase {
    static let queries: [SecretCase] =
        ["200", "403", "404", "410", "429", "500", "cut", "html", "gzip", "garbage", "302"].map {
            answer in
            SecretCase("a query, answered by \(answer)") {
                $0.resources = ["\"url\":\"%A%/a?key=%query%\""]
                $0.routes = ["A /a": answer]
                $0.seen = [.query: ["A /a"]]
                $0.exit =
                    answer == "200" ? 0 : ["429", "500", "cut", "html"].contains(answer) ? 69 : 1
            }
        } + [
            SecretCase("a query and a wrong digest") {
                $0.resources = [
                    "\"url\":\"%A%/a?key=%query%\",\"sha256\":\"\(Checksum.sha256([1]))\""
                ]
                $0.seen = [.query: ["A /a"]]
                $0.exit = 1
            },
            SecretCase("a query and a redirect to another origin") {
                $0.resources = ["\"url\":\"%A%/a?key=%query%\""]
                $0.routes = ["A /a": "302 %B%/b", "B /b": "200"]
                $0.seen = [.query: ["A /a"]]
            },
            SecretCase("a query of nobody") {
                $0.resources = ["\"url\":\"http://127.0.0.1:1/a?key=%query%\""]
                $0.exit = 69
            },
            SecretCase("a query of a manifest that is refused") {
                $0.resources = ["\"url\":\"ftp://127.0.0.1/a?key=%query%\""]
                $0.exit = 65
            },
            SecretCase("a redirect to a signed place") {
                $0.routes = ["A /a": "302 %B%/b?s=%signature%", "B /b": "200"]
                $0.seen = [.signature: ["B /b"]]
            },
            SecretCase("a redirect to a place that is refused") {
                $0.routes = ["A /a": "302 ftp://127.0.0.1/b?s=%signature%"]
                $0.exit = 1
            },
            SecretCase("signed redirects in a circle") {
                $0.routes = ["A /a": "302 %A%/a?s=%signature%", "A /a?s": "200"]
                $0.seen = [.signature: ["A /a"]]
                $0.exit = 1
            },
        ]

    static let proxied = ["http_proxy": "http://user:%proxy%@%p%"]

    static let proxies: [SecretCase] = [
        SecretCase("a proxy's login") {
            $0.environment = proxied
            $0.routes = ["P /a": "200"]
            $0.seen = [.proxy: ["P /a"]]
        },
        SecretCase("a proxy that is not for this host") {
            $0.environment = proxied.merging(["no_proxy": "127.0.0.1"]) { $1 }
        },
        withToken("a token and a redirect, through a proxy") {
            $0.environment = proxied
            $0.routes = ["P /a": "302 %B%/b", "P /b": "200"]
            $0.seen = [.proxy: ["P /a", "P /b"], .token: ["P /a"]]
        },
        SecretCase("a netrc login and a redirect, through a proxy") {
            $0.environment = proxied
            $0.options = netrc
            $0.routes = ["P /a": "302 %B%/b", "P /b": "200"]
            $0.seen = [.proxy: ["P /a", "P /b"], .netrc: ["P /a"]]
        },
        SecretCase("a proxy that refuses the login") {
            $0.environment = proxied
            $0.routes = ["P /a": "407"]
            $0.seen = [.proxy: ["P /a"]]
            $0.exit = 1
        },
        withToken("a tunnel that is refused") {
            $0.resources = ["\"url\":\"https://origin.example/a\",\(bearer)"]
            $0.options = ["--env", "TOKEN@https://origin.example"]
            $0.environment = ["https_proxy": "http://user:%proxy%@%p%"]
            $0.routes = ["P origin.example:443": "403"]
            $0.seen = [.proxy: ["P origin.example:443"]]
            $0.exit = 1
        },
        SecretCase("a proxy that is not there") {
            $0.environment = ["http_proxy": "http://user:%proxy%@127.0.0.1:1"]
            $0.exit = 69
        },
        SecretCase("a proxy of a kind that is not known") {
            $0.environment = ["http_proxy": "gopher://user:%proxy%@%p%"]
            $0.exit = 1
        },
        SecretCase("a proxy that is no URL") {
            $0.environment = ["http_proxy": "http://user:%proxy%@[::1"]
            $0.exit = 1
        },
        SecretCase("a proxy of a name that does not resolve") {
            $0.environment = ["http_proxy": "http://user:%proxy%@no.such.host.invalid:1"]
            $0.exit = 69
        },
    ]

    /// A key's secret is on no wire: what a request has is a signature.
    private static func withKeys(
        _ title: String, _ change: (inout SecretCase) -> Void
    ) -> SecretCase {
        SecretCase(title) {
            $0.resources = ["\"url\":\"s3://bucket/a\""]
            $0.options = ["--s3-endpoint", "%A%"]
            $0.environment = [
                "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "%s3Secret%",
                "AWS_SESSION_TOKEN": "%s3Token%",
            ]
            $0.routes = ["A /bucket/a": "200"]
            $0.seen = [.s3Token: ["A /bucket/a"]]
            change(&$0)
        }
    }

    static let buckets: [SecretCase] =
        [
            withKeys("keys of S3") { _ in },
            withKeys("keys of S3 and a redirect to another origin") {
                $0.routes = ["A /bucket/a": "302 %B%/b", "B /b": "200"]
            },
            withKeys("keys of S3 and a mirror at another origin") {
                $0.resources = ["\"url\":\"s3://bucket/a\",\"mirrors\":[\"%B%/b\"]"]
                $0.routes = ["A /bucket/a": "404", "B /b": "200"]
            },
            withKeys("keys of S3 and a source elsewhere") {
                $0.resources = ["\"url\":\"%B%/b\""]
                $0.routes = ["B /b": "200"]
                $0.seen = [:]
            },
        ]
        + ["400", "403", "500", "cut", "garbage"].map { answer in
            withKeys("keys of S3, answered by \(answer)") {
                $0.routes = ["A /bucket/a": answer]
                $0.exit = ["500", "cut"].contains(answer) ? 69 : 1
            }
        }

    static let substitutes: [SecretCase] = [
        withToken("a token and a cache that has the file") {
            $0.options += ["--rewrite", "%A%/=%B%/"]
            $0.routes = ["B /a": "200"]
            $0.seen = [:]
        },
        withToken("a token and a cache that lacks the file") {
            $0.options += ["--rewrite", "%A%/=%B%/"]
            $0.routes = ["B /a": "404", "A /a": "200"]
        },
        withToken("a token and a cache that sends to the origin") {
            $0.options += ["--rewrite", "%A%/=%B%/"]
            $0.routes = ["B /a": "302 %A%/a", "A /a": "200"]
            $0.seen = [:]
        },
        withToken("a token and a store") {
            let sha256 = String(repeating: "0", count: 64)
            $0.resources = ["\"url\":\"%A%/a\",\"sha256\":\"\(sha256)\",\(bearer)"]
            $0.options += ["--store", "%B%"]
            $0.routes = ["B /cas/\(sha256)": "404", "A /a": "404"]
            $0.exit = 1
        },
    ]

    static let cookies: [SecretCase] = [
        SecretCase("a cookie on the way") {
            $0.routes = ["A /a": "302 /c", "A /c": "200"]
            $0.seen = [.cookie: ["A /c"]]
        },
        SecretCase("a cookie, and back from another origin") {
            $0.routes = ["A /a": "302 %B%/b", "B /b": "302 %A%/c", "A /c": "200"]
        },
        SecretCase("a cookie with an error") {
            $0.routes = ["A /a": "503"]
            $0.exit = 69
        },
    ]

    /// The manifest comes by URL.
    static let manifests: [SecretCase] = [
        withToken("a manifest of another origin uses a token") { $0.manifest = "%B%/m" },
        withToken("a manifest sends a token to its own origin") {
            $0.manifest = "%B%/m"
            $0.resources = ["\"url\":\"%B%/b\",\(bearer)"]
            $0.routes["B /b"] = "200"
            $0.seen = [:]
            $0.exit = 65
        },
        withToken("a manifest by a redirect") {
            $0.manifest = "%B%/r"
            $0.routes["B /r"] = "302 %A%/m"
        },
        SecretCase("a manifest asks for a login of netrc") {
            $0.manifest = "%B%/m"
            $0.options = netrc
            $0.seen = [.netrc: ["A /a", "B /m"]]
        },
        SecretCase("a manifest by a redirect, with netrc") {
            $0.manifest = "%B%/r"
            $0.options = netrc
            $0.routes["B /r"] = "302 %A%/m"
            $0.seen = [.netrc: ["A /a", "B /r"]]
        },
        SecretCase("a manifest with a login in a URL") {
            $0.manifest = "%B%/m"
            $0.resources = ["\"url\":\"http://user:%login%@%a%/a\""]
            $0.exit = 65
        },
        SecretCase("a manifest with a proxy's login") {
            $0.manifest = "%B%/m"
            $0.environment = proxied
            $0.routes = ["P /m": "200", "P /a": "200"]
            $0.seen = [.proxy: ["P /a", "P /m"]]
        },
    ]
}
