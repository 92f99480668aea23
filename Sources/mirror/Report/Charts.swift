import MirrorKit

// The charts of a report about the last run.

extension HTMLWriter {
    /// Writes the transfers of a run as bars over time, a lane for each host.
    mutating func timeline(of run: TreeReport.LoggedRun) {
        let timeline = run.transfers.timeline(lasting: run.length)
        let untimed = run.transfers.untimed
        let axis = TimeAxis(timeline.length)
        element("figure") { html in
            html.element("h3", text: "Transfers over time")
            html.element(
                "figcaption",
                text:
                    "\(Counted(timeline.transfers, "transfer")) from \(Counted(timeline.lanes.count + timeline.hostsLeftOut, "host")) in \(TextReport.seconds(Double(timeline.length) / 1000)). Bars above each other ran at the same time."
            )
            for lane in timeline.lanes { html.lane(lane, axis) }
            axis.labels(&html)
            html.key(of: timeline)
        }
        if timeline.hostsLeftOut > 0 {
            element(
                "p", ["class": "small faint"],
                text:
                    "\(Counted(timeline.hostsLeftOut, "host")) with the least time in transfers left out."
            )
        }
        if untimed > 0 {
            element(
                "p", ["class": "small faint"],
                text: "No times were kept of \(Counted(untimed, "more transfer")).")
        }
    }

    private mutating func lane(_ lane: Timeline.Lane, _ axis: TimeAxis) {
        markup("\n")
        element("div", ["class": "lane"]) { html in
            html.element("p") { html in
                html.text(lane.host.isEmpty ? "no server reached" : lane.host)
                html.element("small", text: lane.words)
            }
            html.element("div", ["class": "plot"]) { html in
                let height = lane.rows.count > 12 ? 5 : 10
                let gap = lane.rows.count > 12 ? 2 : 3
                let whole = lane.rows.count * (height + gap) + gap
                html.element(
                    "svg",
                    [
                        "viewBox": "0 0 \(TimeAxis.width) \(whole)", "height": "\(whole)",
                        "preserveAspectRatio": "none", "role": "img",
                        "aria-label": "\(lane.host): \(lane.words)",
                    ]
                ) { html in
                    axis.grid(whole, &html)
                    for (row, bars) in lane.rows.enumerated() {
                        for bar in bars {
                            html.draw(bar, on: axis, y: row * (height + gap) + gap, height)
                        }
                    }
                }
            }
        }
    }

    private mutating func draw(_ bar: Timeline.Bar, on axis: TimeAxis, y: Int, _ height: Int) {
        // A gap separates a bar from the next one. A bar that is too short to be seen is made
        // longer.
        let (least, gap) = (Int64(30), Int64(15))
        let look = bar.failed > 0 ? "lost" : bar.transfers > 1 ? "many" : "one"
        element("g") { html in
            html.element("title", text: bar.words)
            for wait in bar.waits {
                let (start, end) = (axis.place(wait.lowerBound), axis.place(wait.upperBound))
                html.rectangle("wait", start, end - start, y: y + height * 2 / 5, height / 5)
            }
            for time in bar.active {
                let start = min(axis.place(time.lowerBound), TimeAxis.width * 10 - least)
                let end = axis.place(time.upperBound)
                html.rectangle(look, start, max(least, end - start - gap), y: y, height)
            }
        }
    }

    /// Writes a rectangle. Its left edge and its width are in tenths of a unit.
    private mutating func rectangle(
        _ look: String, _ start: Int64, _ width: Int64, y: Int, _ height: Int
    ) {
        element(
            "rect",
            [
                "class": look, "x": TimeAxis.decimal(start), "y": "\(y)",
                "width": TimeAxis.decimal(width), "height": "\(height)",
            ], text: "")
    }

    private mutating func key(of timeline: Timeline) {
        let bars = timeline.lanes.flatMap(\.rows).joined()
        let looks: [(String, String, Bool)] = [
            ("one", "filled: one transfer", bars.contains { $0.transfers == 1 && $0.failed == 0 }),
            (
                "many", "pale: several short ones",
                bars.contains { $0.transfers > 1 && $0.failed == 0 }
            ),
            ("lost", "dashed outline: failed", bars.contains { $0.failed > 0 }),
            ("wait", "thin line: waiting for the next try", bars.contains { !$0.waits.isEmpty }),
        ]
        element("ul", ["class": "key"]) { html in
            for (look, words, isThere) in looks where isThere {
                html.element("li") { html in
                    html.element("svg", ["viewBox": "0 0 24 10", "aria-hidden": "true"]) { html in
                        let isThin = look == "wait"
                        html.rectangle(look, 10, 220, y: isThin ? 4 : 1, isThin ? 2 : 8)
                    }
                    html.text(words)
                }
            }
        }
    }
}

extension Timeline.Lane {
    fileprivate var words: String {
        var words = "\(Counted(transfers, "transfer"))"
        if bytes > 0 { words += ", \(ByteCount(bytes))" }
        return failed > 0 ? words + ", \(failed) failed" : words
    }
}

extension Timeline.Bar {
    /// How long the transfers waited for their next try. `nil` means that they did not.
    var waitRemark: String? {
        waits.isEmpty ? nil : "\(TextReport.seconds(Double(waited) / 1000)) of it waiting"
    }

    fileprivate var words: String {
        let time =
            "\(TextReport.seconds(Double(began) / 1000)) to \(TextReport.seconds(Double(ended) / 1000))"
        let what =
            transfers == 1 ? target.path : "\(target.path) and \(transfers - 1) more"
        var words = "\(what), \(ByteCount(bytes)), \(time)"
        if failed > 0 { words += transfers == 1 ? ", failed" : ", \(failed) failed" }
        if let remark = waitRemark { words += ", \(remark)" }
        return words
    }
}

extension HTMLWriter {
    /// Writes a curve of how fast the bytes of a run arrived; nothing if no byte arrived.
    ///
    /// A rate that is the same all the time is a sentence.
    mutating func throughput(of run: TreeReport.LoggedRun) {
        let throughput = run.transfers.throughput(lasting: run.length)
        guard throughput.peak > 0 else { return }
        guard throughput.rates.contains(where: { $0 < throughput.peak }) else {
            return element("p", text: "Throughput: \(ByteCount(throughput.peak))/s throughout.")
        }
        let axis = TimeAxis(throughput.length)
        let words =
            "\(ByteCount(throughput.mean))/s on average, \(ByteCount(throughput.peak))/s at most, \(TextReport.seconds(Double(throughput.peakTime) / 1000)) after the beginning"
        element("figure") { html in
            html.element("h3", text: "Throughput")
            html.element(
                "figcaption",
                text:
                    "\(words). The bytes of each transfer are spread evenly over its time without waits; the dashed line is the average."
            )
            html.element("div", ["class": "under"]) { html in
                html.element("span", text: "")
                html.element("div", ["class": "plot"]) { html in
                    html.element(
                        "svg",
                        [
                            "viewBox": "0 0 \(TimeAxis.width) 96", "height": "96",
                            "preserveAspectRatio": "none", "role": "img", "aria-label": words,
                        ]
                    ) { $0.curve(throughput, axis) }
                }
            }
            axis.labels(&html)
        }
    }

    private mutating func curve(_ throughput: Throughput, _ axis: TimeAxis) {
        axis.grid(96, &self)
        var path = ""
        let height = { (rate: Int64) in
            "\(96 - Int64(Double(rate) / Double(throughput.peak) * 92))"
        }
        for (bucket, rate) in throughput.rates.enumerated() {
            let start = Int64(bucket) * throughput.bucketLength
            let end = min(start + throughput.bucketLength, throughput.length)
            path += path.isEmpty ? "M" : "L"
            path += "\(TimeAxis.decimal(axis.place(start))) \(height(rate))"
            path += "H\(TimeAxis.decimal(axis.place(end)))"
        }
        element("path", ["class": "area", "d": path + "V96H0Z"], text: "")
        element("path", ["class": "edge", "d": path], text: "")
        let mean = height(throughput.mean)
        element(
            "line",
            ["class": "mean", "x1": "0", "x2": "\(TimeAxis.width)", "y1": mean, "y2": mean],
            text: "")
    }
}

// The time axis of a chart. Pictures stretch with the page, so they contain no text.

extension TimeAxis {
    /// The width of pictures in their own units.
    static let width: Int64 = 1000

    /// Returns the place of a time, in tenths of a unit from the left edge.
    func place(_ time: Int64) -> Int64 {
        Int64(Double(time) / Double(length) * Double(Self.width * 10))
    }

    /// Returns tenths as a number with a decimal point.
    static func decimal(_ tenths: Int64) -> String { "\(tenths / 10).\(tenths % 10)" }

    /// Writes the lines of a picture, one for each tick.
    func grid(_ height: Int, _ html: inout HTMLWriter) {
        for tick in ticks {
            let x = Self.decimal(place(tick))
            html.element(
                "line", ["class": "grid", "x1": x, "x2": x, "y1": "0", "y2": "\(height)"], text: "")
        }
    }

    /// Writes a label for each tick below a picture.
    func labels(_ html: inout HTMLWriter) {
        html.element("div", ["class": "under", "aria-hidden": "true"]) { html in
            html.element("span", text: "")
            html.element("div", ["class": "axis"]) { html in
                for tick in ticks {
                    let tenths = place(tick) / 10
                    let isEnd = tenths > 920
                    html.element(
                        "span",
                        [
                            "class": isEnd ? "end" : "",
                            "style": "left:\(tenths / 10).\(tenths % 10)%",
                        ], text: label(tick))
                }
            }
        }
    }
}
