extension ResourceTable {
    /// The requests that are declared to give bytes of two digests.
    ///
    /// A request is a method, a body and a URL; only digests of one algorithm can contradict each
    /// other.
    func contradictions() -> [ManifestFlaw] {
        var known = RepeatedHashes(expecting: count)
        forEachRequest { hash, _ in known.insert(UInt64(bitPattern: Int64(hash))) }
        known.find()
        if known.repeated.isEmpty { return [] }
        var requests: [(hash: Int, position: Int)] = []
        forEachRequest { hash, position in
            if known.contains(UInt64(bitPattern: Int64(hash))) { requests.append((hash, position)) }
        }
        requests.sort { ($0.hash, $0.position) < ($1.hash, $1.position) }
        var flaws: [ManifestFlaw] = []
        var start = 0
        while start < requests.count {
            var end = start + 1
            while end < requests.count, requests[end].hash == requests[start].hash {
                let pair = (requests[end - 1].position, requests[end].position)
                if let flaw = contradiction(between: pair.0, and: pair.1) { flaws.append(flaw) }
                end += 1
            }
            start = end
        }
        return flaws
    }

    /// Passes a hash of each request whose response has a declared digest to the body.
    private func forEachRequest(_ body: (_ hash: Int, _ position: Int) -> Void) {
        for position in indices where mayHaveDigest(at: position) {
            if let hash = plainRequestHash(at: position) {
                body(hash, position)
                continue
            }
            let resource = self[position]
            for source in resource.sources where !resource.digests.isEmpty {
                body(requestHash(resource.method, source.url), position)
            }
        }
    }

    private func contradiction(between first: Int, and second: Int) -> ManifestFlaw? {
        if first == second { return nil }
        let (a, b) = (self[first], self[second])
        guard a.method == b.method,
            let url = a.sources.map(\.url).first(where: { url in
                b.sources.contains { $0.url == url }
            })
        else { return nil }
        for digest in a.digests {
            if let other = b.digests.first(where: { $0.algorithm == digest.algorithm }),
                other != digest
            {
                return .twoDigests(
                    first: first, second: second, url: url, digests: [digest, other])
            }
        }
        return nil
    }
}
