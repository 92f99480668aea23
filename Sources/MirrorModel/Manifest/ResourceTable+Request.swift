/// What a transfer needs of a resource that has one source, sends no body, and has no pieces.
///
/// Nearly all resources are such. A whole `Resource` has a reference for each of its texts and lists,
/// and a transfer needs few of them.
extension ResourceTable {
    /// The source of one resource; nil where a transfer needs the whole resource.
    package func onlySource(at position: Int) -> Source? {
        let record = columns.records[position]
        guard record.rarity == 0 else { return nil }
        return Source(
            url: columns.url(of: record), headers: columns.traits.values[Int(record.traits)].headers
        )
    }

    /// What one resource that has one source declares about its bytes.
    ///
    /// - Parameters:
    ///   - target: the resource's target.
    ///   - storedMediaType: the media type of the stored version, where known.
    package func expectation(
        at position: Int, for target: Target, replacing storedMediaType: String?
    ) -> Expectation {
        let record = columns.records[position]
        let mediaType = columns.traits.values[Int(record.traits)].mediaType
        let digest = columns.digest(of: record)
        let provesNoPage = digest?.algorithm.isStrong == true || mediaType != nil
        return Expectation(
            size: record.size, digests: digest.map { [$0] } ?? [],
            mediaType: mediaType,
            refusesHTML: !provesNoPage
                && Expectation.refusesHTML(at: target, replacing: storedMediaType))
    }

    /// The priority of one resource, and whether its failure leaves the run successful.
    package func rank(at position: Int) -> (priority: Int32, isOptional: Bool) {
        let traits = columns.traits.values[Int(columns.records[position].traits)]
        return (traits.priority, traits.isOptional)
    }
}
