internal import MirrorManifests
internal import MirrorModel
internal import MirrorSystem

/// The next pages of a paged listing; each page names the next one.
struct ListPages {
    let loader: ManifestLoader
    let url: SourceURL

    /// The greatest number of pages; S3 puts a thousand keys into one.
    private static let most = 10_000

    /// Adds the resources of all further pages; returns the whole listing as the text of a
    /// manifest.
    ///
    /// Throws `ManifestRefusal`, or `MirrorError` with `manifestUnreadable`.
    func complete(_ decoded: inout DecodedManifest) async throws -> ManifestText {
        var token = decoded.continuation
        var seen: Set<String> = []
        while let next = token {
            guard seen.insert(next).inserted, seen.count < ListPages.most else {
                throw MirrorError(
                    .manifestUnreadable,
                    "\(url): the listing does not end: its parts name each other.")
            }
            let page = try await fetch(try address(of: next))
            for resource in page.manifest.resources { decoded.manifest.resources.append(resource) }
            token = page.continuation
        }
        do throws(MirrorError) { try decoded.manifest.validate() } catch {
            throw MirrorError(error.code, "\(url): \(error.message)")
        }
        var text: [UInt8] = []
        try ManifestWriter(.json, label: url.description).write(decoded.manifest) { text += $0 }
        return .memory(text)
    }

    private func fetch(_ page: SourceURL) async throws -> DecodedManifest {
        let fetch = ManifestFetch(
            url: page, key: SourceKey(page), configuration: loader.configuration)
        switch try await fetch.run(ifChangedSince: nil) {
        case .received(_, let text):
            return try text.decode(
                label: url.description, origin: .url(page), hint: loader.hint)
        case .notModified:
            throw MirrorError(
                .internalError, "\(url): the server answered 304 to an unconditional request.")
        case .failed(let error):
            throw MirrorError(
                .manifestUnreadable,
                "\(url): the rest of the listing cannot be fetched: \(ManifestLoader.reason(error))"
            )
        }
    }

    /// The list's own URL with the token in its query.
    private func address(of token: String) throws(MirrorError) -> SourceURL {
        let others = (url.query ?? "").split(separator: "&")
            .filter { !$0.hasPrefix("continuation-token=") }
        let query = (others + ["continuation-token=" + SourceURL.queryValue(token)[...]])
            .joined(separator: "&")
        do throws(URLFlaw) { return try SourceURL("?" + query, relativeTo: url) } catch {
            throw MirrorError(
                .manifestUnreadable,
                "\(url): the rest of the listing has no usable URL: \(error.reason).")
        }
    }
}
