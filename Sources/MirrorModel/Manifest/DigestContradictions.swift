/// Finds the requests that are declared to give bytes of two digests.
///
/// A request is a method, a body and a URL; only digests of one algorithm can contradict each other.
struct DigestContradictions {
    private let resources: ResourceTable

    init(_ resources: ResourceTable) { self.resources = resources }

    /// A flaw for each resource that contradicts an earlier one.
    func flaws() -> [ManifestFlaw] {
        var known = RepeatedHashes(expecting: resources.count)
        forEachRequest { hash, _, _ in known.insert(UInt64(bitPattern: Int64(hash))) }
        known.find()
        if known.repeated.isEmpty { return [] }
        var requests: [Request] = []
        forEachRequest { hash, position, source in
            if known.contains(UInt64(bitPattern: Int64(hash))) {
                requests.append(Request(hash: hash, position: position, source: source))
            }
        }
        requests.sort { ($0.hash, $0.position) < ($1.hash, $1.position) }
        var flaws: [ManifestFlaw] = []
        var start = 0
        while start < requests.count {
            var end = start + 1
            while end < requests.count, requests[end].hash == requests[start].hash { end += 1 }
            if end - start > 1 { compare(requests[start..<end], &flaws) }
            start = end
        }
        return flaws
    }

    /// A request whose hash is not its alone.
    private struct Request {
        var hash: Int
        var position: Int
        /// What is asked and declared, where the resource has several sources: such a resource may
        /// have very many, so none is looked up a second time. Nil for any other.
        var source: (url: SourceURL, method: RequestMethod, digests: [Digest])?
    }

    /// Passes a hash of each request whose response has a declared digest to the body.
    private func forEachRequest(
        _ body: (
            _ hash: Int, _ position: Int,
            _ source: (url: SourceURL, method: RequestMethod, digests: [Digest])?
        ) -> Void
    ) {
        for position in resources.indices where resources.hasDigest(at: position) {
            if resources.hasOneSource(at: position) {
                body(resources.requestHash(at: position), position, nil)
                continue
            }
            let resource = resources[position]
            for source in resource.sources {
                body(
                    ResourceTable.requestHash(resource.method, source.url), position,
                    (source.url, resource.method, resource.digests))
            }
        }
    }

    /// A digest that a resource declares for the response to a request.
    private struct Declaration {
        var position: Int
        var method: RequestMethod
        var url: SourceURL
        var digest: Digest
    }

    /// Compares what resources with requests of one hash declare with what the first of them did.
    private func compare(
        _ requests: ArraySlice<Request>, _ flaws: inout [ManifestFlaw]
    ) {
        var first: [Declaration] = []
        for request in requests {
            let position = request.position
            let (url, method, digests) = request.source ?? declared(by: resources[position])
            var isContradicted = false
            for digest in digests {
                let earlier = first.first {
                    $0.url == url && $0.method == method
                        && $0.digest.algorithm == digest.algorithm
                }
                guard let earlier else {
                    first.append(
                        Declaration(position: position, method: method, url: url, digest: digest))
                    continue
                }
                if isContradicted || earlier.digest == digest { continue }
                isContradicted = true
                flaws.append(
                    .twoDigests(
                        first: earlier.position, second: position, url: url,
                        digests: [earlier.digest, digest]))
            }
        }
    }

    private func declared(
        by resource: Resource
    ) -> (url: SourceURL, method: RequestMethod, digests: [Digest]) {
        (resource.primary.url, resource.method, resource.digests)
    }
}
