/// Whether a wanted file goes into an export, and under which name.
package enum ExportVerdict: Sendable, Hashable {
    /// It does; the name is relative to the root, or to the folder that is made.
    case take(name: String)
    /// It is not of the kind that the format is for.
    case pass
    /// The format cannot say it, or there is nothing to say.
    case omit(ExportOmission.Reason)
}

extension ExportFormat {
    /// Decides about a resource.
    ///
    /// - Parameters:
    ///   - resource: the resource, with what the index knows of its bytes.
    ///   - isThere: whether the tree has a file at the target, of the version that is wanted.
    package func verdict(on resource: Resource, isThere: Bool) -> ExportVerdict {
        if needsFiles {
            guard let name = name(for: resource) else { return .pass }
            if !isThere { return .omit(.notThere) }
            if self == .npmCache, resource.isKnownToNPMBySHA1 { return .omit(.weakIntegrity) }
            return name.isEmpty ? .omit(.noName) : .take(name: name)
        }
        let path = resource.target.path
        if self == .sums {
            let isKnown = resource.digests.contains { $0.algorithm == .sha256 }
            return isKnown ? .take(name: path) : .omit(.noDigest)
        }
        if resource.method != .get { return .omit(.post) }
        if resource.primary.url.scheme == .file { return .omit(.localSource) }
        let headers = resource.primary.headers
        if headers.contains(where: { !$0.value.variables.isEmpty }) { return .omit(.secret) }
        if self == .metalink { return headers.isEmpty ? .take(name: path) : .omit(.headers) }
        // aria2 cuts white space at the ends of an option's value.
        return path.utf8.last == 0x20 ? .omit(.name) : .take(name: path)
    }

    /// The name in the folder that is made; nil for a file of another kind, empty if there is none.
    private func name(for resource: Resource) -> String? {
        let name = resource.target.name
        switch self {
        case .wheelhouse:
            let isPackage =
                resource.target.fileExtension == "whl" || resource.tags.contains("sdist")
            return isPackage ? name : nil
        case .npmCache:
            let isPackage = resource.target.path.utf8.starts(with: "Caches/npm/".utf8)
            return isPackage || resource.target.fileExtension == "tgz" ? resource.target.path : nil
        // Bazel looks for the last part of the URL's path as it is written.
        case .bazelDistdir: return PathText.name(of: resource.primary.url.path)
        case .bagit: return "data/" + resource.target.path
        case .aria2, .sums, .metalink: return resource.target.path
        }
    }
}

extension Resource {
    /// Whether npm would look for the package by its sha1; what is added to its cache has a sha512.
    fileprivate var isKnownToNPMBySHA1: Bool {
        let algorithms = digests.map(\.algorithm)
        return algorithms.contains(.sha1) && !algorithms.contains(.sha512)
    }

    /// The resource with sources that others can use: without passwords, and without mirrors that are
    /// files of this machine or need headers.
    package var withoutSecretsOfSources: Resource {
        var copy = self
        copy.primary.url = primary.url.withoutUserInfo
        copy.mirrors = mirrors.filter { $0.url.scheme != .file && $0.headers.isEmpty }
        for position in copy.mirrors.indices {
            copy.mirrors[position].url = copy.mirrors[position].url.withoutUserInfo
        }
        return copy
    }

    /// The resource with the size and sha256 of the version that mirror put there.
    ///
    /// Nil if that is not the version that the resource wants.
    ///
    /// - Parameter isOfSource: whether the version came from one of the sources; it counts only
    ///   where no digest tells.
    package func described(by record: IndexRecord, isOfSource: Bool) -> Resource? {
        let isWanted =
            if pin != nil { digests.contains(where: record.isProven) } else { isOfSource }
        guard isWanted, size == nil || size == record.stamp.size else { return nil }
        var described = self
        described.size = record.stamp.size
        if !digests.contains(record.sha256) {
            described.digests = digests + [record.sha256]
        }
        return described
    }
}
