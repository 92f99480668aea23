import MirrorKit
import MirrorModel

/// How fast the bytes of a run arrived, as a curve over time.
struct ThroughputChart {
    private let throughput: Throughput
    private let axis: ChartAxis

    /// Nil if no byte arrived.
    init?(of run: TreeReport.LoggedRun) {
        throughput = run.transfers.throughput(lasting: run.length)
        guard throughput.peak > 0 else { return nil }
        axis = ChartAxis(length: throughput.length)
    }

    func write(_ html: inout HTMLWriter) {
        let words =
            "\(ByteCount(throughput.mean))/s on average, \(ByteCount(throughput.peak))/s at most, \(TextReport.seconds(Double(throughput.peakTime) / 1000)) after the beginning"
        html.element("figure") { html in
            html.element("h3", text: "Throughput")
            html.element(
                "figcaption",
                text:
                    "\(words). The bytes of each transfer are spread evenly over its time; the dashed line is the average."
            )
            html.element("div", ["class": "under"]) { html in
                html.element("span", text: "")
                html.element("div", ["class": "plot"]) { html in
                    html.element(
                        "svg",
                        [
                            "viewBox": "0 0 \(ChartAxis.width) 96", "height": "96",
                            "preserveAspectRatio": "none", "role": "img", "aria-label": words,
                        ]
                    ) { curve(&$0) }
                }
            }
            axis.labels(&html)
        }
    }

    private func curve(_ html: inout HTMLWriter) {
        axis.grid(96, &html)
        var path = ""
        let height = { (rate: Int64) in
            "\(96 - Int64(Double(rate) / Double(throughput.peak) * 92))"
        }
        for (bucket, rate) in throughput.rates.enumerated() {
            let start = Int64(bucket) * throughput.bucketLength
            let end = min(start + throughput.bucketLength, throughput.length)
            path += path.isEmpty ? "M" : "L"
            path += "\(ChartAxis.decimal(axis.place(start))) \(height(rate))"
            path += "H\(ChartAxis.decimal(axis.place(end)))"
        }
        html.element("path", ["class": "area", "d": path + "V96H0Z"], text: "")
        html.element("path", ["class": "edge", "d": path], text: "")
        let mean = height(throughput.mean)
        html.element(
            "line",
            ["class": "mean", "x1": "0", "x2": "\(ChartAxis.width)", "y1": mean, "y2": mean],
            text: "")
    }
}
