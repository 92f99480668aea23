// What leaves the machine with a recorded decision: nothing that a server asks for as a proof. The
// index knows a query by its hash, and a short token can be guessed from its hash. So the queries of a
// decision are numbered: equal ones stay equal, and nothing more can be told of them.

extension Situation {
    /// The situation without queries, headers, bodies, user names, and what no decision looks at.
    var redacted: Situation {
        var numbers = QueryNumbers()
        var copy = self
        copy.resource = resource.redacted
        copy.sources = sources.map { numbers.redacted($0) }
        copy.record = record.map { numbers.redacted($0) }
        copy.parts = parts.map { numbers.redacted($0) }
        copy.orphan = orphan.map { numbers.redacted($0) }
        return copy
    }
}

extension Resource {
    /// What the reconciler looks at.
    fileprivate var redacted: Resource {
        var copy = Resource(target: target, url: primary.url.redacted)
        copy.size = size
        copy.digests = digests
        copy.refresh = refresh
        copy.isExecutable = isExecutable
        if method != .get { copy.method = .post(body: Template(pieces: [])) }
        return copy
    }
}

extension SourceURL {
    fileprivate var redacted: SourceURL {
        SourceURL(URLAuthority(origin), pathAndQuery: path)
    }
}

/// The number of each query of a decision, in the order in which they appear.
private struct QueryNumbers {
    private var numbers: [Substring: Int] = [:]

    mutating func redacted(_ key: SourceKey) -> SourceKey {
        guard let (place, query) = key.text.halves(atLast: "?") else { return key }
        let number = numbers[query] ?? numbers.count + 1
        numbers[query] = number
        return SourceKey(text: "\(place)?\(number)")
    }

    mutating func redacted(_ record: IndexRecord) -> IndexRecord {
        var copy = record
        copy.provenance = record.provenance.map { redacted($0) }
        return copy
    }

    mutating func redacted(_ part: PartRecord) -> PartRecord {
        var copy = part
        copy.provenances = part.provenances.map { redacted($0) }
        if case .version(let provenance, let validator) = part.identity {
            copy.identity = .version(redacted(provenance), validator)
        }
        return copy
    }

    private mutating func redacted(_ provenance: Provenance) -> Provenance {
        Provenance(source: redacted(provenance.source), answeredBy: provenance.answeredBy)
    }
}
