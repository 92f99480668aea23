/// Where the objects of S3 buckets are: an endpoint and a region.
///
/// `s3://bucket/key` is a name, and `address` is the URL that is asked for it. Amazon's endpoint has
/// a host for each bucket. Another endpoint has the bucket as the first segment of the path.
struct S3Place: Sendable, Hashable {
    /// The URL of an endpoint other than Amazon's.
    var endpoint: SourceURL?
    /// The region, which is a part of each signature.
    var region: String

    /// Amazon's region if none is named anywhere.
    static let usualRegion = "us-east-1"

    /// The URL of an object.
    func address(of object: SourceURL) -> SourceURL {
        address(bucket: object.host, path: S3Place.encoded(path: object.path))
    }

    /// The URL of a page of a bucket's objects (ListObjectsV2).
    ///
    /// - Parameters:
    ///   - prefix: the beginning of the objects' keys.
    ///   - token: the continuation token of the page before; nil for the first page.
    func list(bucket: String, prefix: String, token: String? = nil) -> SourceURL {
        let url = address(bucket: bucket, path: endpoint == nil ? "/" : "")
        // The signature wants the parameters in the order of their names.
        let parameters = [
            token.map { "continuation-token=" + S3Place.encoded($0, keepsSlash: false) },
            "list-type=2", "prefix=" + S3Place.encoded(prefix, keepsSlash: false),
        ]
        return SourceURL(
            url.authority,
            pathAndQuery: url.path + "?" + parameters.compactMap { $0 }.joined(separator: "&"))
    }

    /// The URL of a document: an object, or the list of the objects below an URL that ends in `/`.
    func document(_ url: SourceURL) -> SourceURL {
        guard url.isBucketList else { return address(of: url) }
        let name = "continuation-token="
        let token = url.query.flatMap { $0.hasPrefix(name) ? $0.dropFirst(name.count) : nil }
        let prefix = String(
            decoding: PercentEncoding.decode(url.path.utf8.dropFirst()), as: UTF8.self)
        return list(bucket: url.host, prefix: prefix, token: token.flatMap(SourceURL.decoded))
    }

    private func address(bucket: String, path: String) -> SourceURL {
        if let endpoint {
            let slash = endpoint.path.utf8.last == UInt8(ascii: "/") ? "" : "/"
            return SourceURL(
                endpoint.authority, pathAndQuery: endpoint.path + slash + bucket + path)
        }
        // The certificate of the hosts of buckets has no names with further dots.
        let isHost = !bucket.utf8.contains(UInt8(ascii: "."))
        let host = "s3.\(region).amazonaws.com"
        let origin = Origin(scheme: .https, host: isHost ? "\(bucket).\(host)" : host, port: 443)
        return SourceURL(
            URLAuthority(origin), pathAndQuery: (isHost ? "" : "/" + bucket) + path)
    }

    /// Encodes a path as the signature wants it: all bytes but unreserved ones and slashes.
    private static func encoded(path: String) -> String {
        encoded(bytes: PercentEncoding.decode(path.utf8), keepsSlash: true)
    }

    private static func encoded(_ text: String, keepsSlash: Bool) -> String {
        encoded(bytes: Array(text.utf8), keepsSlash: keepsSlash)
    }

    private static func encoded(bytes: [UInt8], keepsSlash: Bool) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            let isPlain =
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                    UInt8(ascii: "."), UInt8(ascii: "~"):
                    true
                default: keepsSlash && byte == UInt8(ascii: "/")
                }
            if isPlain { text.append(byte) } else { PercentEncoding.append(byte, to: &text) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension SourceURL {
    /// Whether an S3 URL names the objects below it, and no object.
    var isBucketList: Bool { scheme == .s3 && path.utf8.last == UInt8(ascii: "/") }

    /// The bucket of an S3 URL, as the folder of its keys.
    var bucket: SourceURL { SourceURL(authority, pathAndQuery: "/") }
}
