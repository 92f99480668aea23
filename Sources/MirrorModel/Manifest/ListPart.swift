/// A further document that a list consists of.
package enum ListPart: Sendable, Hashable {
    /// The list goes on there.
    case page(SourceURL)
    /// A folder of a directory listing.
    case folder(ListedFolder)
    /// What a package index has of a project.
    case project(IndexedProject)

    /// Whether the document before it goes on there.
    package var isNextPage: Bool {
        switch self {
        case .page: true
        case .folder(let folder): folder.isNextPage
        case .project: false
        }
    }

    /// Where it is.
    package var url: SourceURL {
        switch self {
        case .page(let url): url
        case .folder(let folder): folder.url
        case .project(let project): project.url
        }
    }
}

/// A folder of a directory listing.
package struct ListedFolder: Sendable, Hashable {
    /// Where its listing is; it ends in a slash.
    package var url: SourceURL
    /// Its path within the folder that was asked for, decoded, with a slash at its end; empty for that folder.
    package var path: String
    /// How many levels it is below the folder that was asked for.
    package var depth: Int
    /// Whether it is a further page of the folder's listing.
    package var isNextPage = false

    /// Takes a folder.
    package init(url: SourceURL, path: String = "", depth: Int = 0) {
        (self.url, self.path, self.depth) = (url, path, depth)
    }
}

/// A project of which a list names files by their digests.
package struct IndexedProject: Sendable, Hashable {
    /// The project's page at the index (PEP 503, PEP 691).
    package var url: SourceURL
    /// The name as the list has it.
    package var name: String
    /// The digests of its files.
    package var digests: [Digest]
    /// Where the list names it: the line and the column.
    package var line: Int
    package var column: Int

    /// Takes a project.
    package init(url: SourceURL, name: String, digests: [Digest], line: Int, column: Int) {
        (self.url, self.name, self.digests) = (url, name, digests)
        (self.line, self.column) = (line, column)
    }
}
