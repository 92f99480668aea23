internal import MirrorModel

/// The lists in XML, told apart by their root elements.
enum XMLLists {
    /// The format of a root element; nil if it is none that mirror reads.
    static func format(of root: XMLElement) -> ListFormat? {
        let namespace = root.namespace ?? ""
        switch root.name {
        case "metalink" where namespace == "http://www.metalinker.org/": return .metalink3
        case "ListBucketResult": return .s3
        case "repomd" where namespace == "http://linux.duke.edu/metadata/repo": return .repomd
        case "metadata" where namespace == "http://linux.duke.edu/metadata/common":
            return .rpmPrimary
        default: return nil
        }
    }

    /// The dialect that reads a list of the collector's format.
    static func dialect(of collector: ListCollector) -> any XMLDialect {
        switch collector.format {
        case .s3: BucketDialect(collector)
        case .metalink3: OldMetalinkDialect(collector)
        default: RepositoryDialect(collector)
        }
    }
}
