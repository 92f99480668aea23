import MirrorModel

/// The time axis of a chart. Pictures stretch with the page, so their texts are not in them.
struct ChartAxis {
    /// How wide pictures are in their own units.
    static let width: Int64 = 1000

    /// The milliseconds from the left edge to the right one.
    let length: Int64

    /// Tenths of a unit from the left edge.
    func place(_ time: Int64) -> Int64 {
        Int64(Double(time) / Double(length) * Double(Self.width * 10))
    }

    /// Tenths as a number with a point.
    static func decimal(_ tenths: Int64) -> String { "\(tenths / 10).\(tenths % 10)" }

    /// Writes the lines of a picture, one for each tick.
    func grid(_ height: Int, _ html: inout HTMLWriter) {
        for tick in TimeAxis(length).ticks {
            let x = Self.decimal(place(tick))
            html.element(
                "line", ["class": "grid", "x1": x, "x2": x, "y1": "0", "y2": "\(height)"], text: "")
        }
    }

    /// Writes what is beneath a picture, a label for each tick.
    func labels(_ html: inout HTMLWriter) {
        let axis = TimeAxis(length)
        html.element("div", ["class": "under", "aria-hidden": "true"]) { html in
            html.element("span", text: "")
            html.element("div", ["class": "axis"]) { html in
                for tick in axis.ticks {
                    let tenths = place(tick) / 10
                    let isEnd = tenths > 920
                    html.element(
                        "span",
                        [
                            "class": isEnd ? "end" : "",
                            "style": "left:\(tenths / 10).\(tenths % 10)%",
                        ], text: axis.label(tick))
                }
            }
        }
    }
}
