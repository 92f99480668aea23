/// A part of a report's page with a heading.
protocol ReportSection {
    /// What links to the section name.
    var id: String { get }
    /// Its heading.
    var title: String { get }

    /// Writes what is beneath the heading.
    func write(_ html: inout HTMLWriter)
}
