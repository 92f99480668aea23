"""Results as a table, as JSON, as an SVG plot, and on the page of the documentation."""

import json

from measure import median, spread

MIB = 1 << 20
BEGIN = "<!-- bench: begin -->"
END = "<!-- bench: end -->"


class Result:
    """A tool's runs of one workload; wall and CPU in seconds, the peak in bytes, all medians."""

    def __init__(self, command, samples, notes, flaws):
        self.tool = command.tool
        self.verifies = command.verifies
        self.is_peer = command.is_peer
        self.samples = samples
        self.wall = median(samples, "wall")
        self.cpu = median(samples, "cpu")
        self.peak = max(sample.peak for sample in samples)
        self.notes = notes
        self.flaws = flaws


def goals(workload, results):
    """(words, figure, bound, sense, reached) of each goal; what cannot be told is left out."""
    found = []
    for words, figure, bound, sense in workload.goals:
        try:
            value = figure(results)
        except KeyError:
            continue
        if value is not None:
            reached = value >= bound if sense == ">=" else value <= bound
            found.append((words, value, bound, sense, reached))
    return found


def number(value):
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def table(workload, results):
    """Markdown: a row a tool, fastest first, then the goals."""
    lines = [f"### {workload.name}: {workload.title}", "",
             "| tool | time | by mirror's | processor | peak memory | |",
             "|---|---:|---:|---:|---:|---|"]
    unit = 1000 if workload.repeats > 1 else 1
    word = "ms" if workload.repeats > 1 else "s"
    mirror = results.get("mirror")
    for result in sorted(results.values(), key=lambda r: r.wall):
        low, high = spread(result.samples)
        ratio = f"{result.wall / mirror.wall:.2f}" if mirror else ""
        remark = "verifies" if result.verifies else ""
        if result.tool == "floor":
            remark = "the floor, not a peer: it checks nothing"
        if len(result.samples) < len(mirror.samples if mirror else result.samples):
            remark += f"{', ' if remark else ''}{len(result.samples)} run only, far behind"
        if result.flaws:
            remark = f"**{result.flaws[0]}**"
        lines.append(
            f"| {result.tool} | {result.wall * unit:.2f} {word} "
            f"({low * unit:.2f} – {high * unit:.2f}) | {ratio} | {result.cpu * unit:.2f} {word} "
            f"| {result.peak / MIB:.0f} MiB | {remark} |")
    lines.append("")
    for words, value, bound, sense, reached in goals(workload, results):
        verdict = "reached" if reached else "**not reached**"
        lines.append(f"- {number(value)} {words}; aim {sense} {number(bound)}: {verdict}")
    return "\n".join(lines) + "\n"


def section(workload, measured):
    """A workload's part of the page: of one case a row a tool, of several a row a case."""
    alone = len(measured) == 1 and measured[0][0] is workload
    text = table(*measured[0]) if alone else matrix(workload, measured)
    return text + "".join(f"\n{remark}\n" for remark in workload.remarks)


def cell(result):
    """A tool's median in a table of cases, or what was wrong."""
    if result is None:
        return ""
    return f"**{result.flaws[0]}**" if result.flaws else f"{result.wall:.2f} s"


def matrix(workload, measured):
    """Markdown: a row a case, a column a tool, then how often each goal was reached."""
    tools = list(dict.fromkeys(tool for _, results in measured for tool in results))
    aims = [(words, bound, sense) for words, _, bound, sense in measured[0][0].goals]
    lines = [f"### {workload.name}: {workload.title}", "",
             f"| | {' | '.join(tools)} | {' | '.join(words for words, _, _ in aims)} |",
             f"|---|{'---:|' * (len(tools) + len(aims))}"]
    verdicts = {words: [] for words, _, _ in aims}
    for case, results in measured:
        row = [cell(results.get(tool)) for tool in tools]
        found = {words: (value, good) for words, value, _, _, good in goals(case, results)}
        for words, _, _ in aims:
            value, good = found.get(words, (None, None))
            row.append("" if value is None else number(value) if good else f"**{number(value)}**")
            verdicts[words] += [] if good is None else [good]
        lines.append(f"| {case.title} | {' | '.join(row)} |")
    lines.append("")
    for words, bound, sense in aims:
        if verdicts[words]:
            lines.append(f"- {words}: aim {sense} {number(bound)}, reached in "
                         f"{sum(verdicts[words])} of {len(verdicts[words])}")
    return "\n".join(lines) + "\n"


def document(machine, workloads):
    """Everything, for programs: each case of a workload as one of its own."""
    cases = [case for _, measured in workloads for case in measured]
    return {
        "v": 1, "machine": machine,
        "workloads": [
            {
                "name": workload.name, "title": workload.title,
                "results": [
                    {
                        "tool": r.tool, "verifies": r.verifies, "wall": r.wall, "cpu": r.cpu,
                        "isPeer": r.is_peer, "peak": r.peak, "notes": r.notes, "flaws": r.flaws,
                        "runs": [vars(sample) for sample in r.samples],
                    } for r in results.values()],
                "goals": [
                    {"what": w, "value": v, "bound": b, "sense": s, "reached": reached}
                    for w, v, b, s, reached in goals(workload, results)],
            } for workload, results in cases],
    }


def plot(workloads):
    """Bars: each tool's time by mirror's, cut at 8."""
    width, bar, label, most = 760, 16, 170, 8.0
    rows, y = [], 30
    cases = [case for _, measured in workloads for case in measured]
    for workload, results in cases:
        mirror = results.get("mirror")
        if not mirror or len(results) < 2:
            continue
        rows.append(f'<text x="8" y="{y + 12}" class="t">{workload.name}: {workload.title}</text>')
        y += 22
        for result in sorted(results.values(), key=lambda r: r.wall):
            ratio = result.wall / mirror.wall
            length = min(ratio, most) / most * (width - label - 70)
            colour = "#2563a8" if result is mirror else "#9aa3ad"
            rows.append(
                f'<text x="{label - 8}" y="{y + 12}" class="n">{result.tool}</text>'
                f'<rect x="{label}" y="{y}" width="{length:.1f}" height="{bar - 3}" '
                f'fill="{colour}"/>'
                f'<text x="{label + length + 6:.1f}" y="{y + 12}">{ratio:.2f}</text>')
            y += bar
        y += 14
    style = ("text{font:12px sans-serif;fill:#333}.t{font-weight:bold}"
             ".n{text-anchor:end}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y + 10}" '
            f'width="{width}" height="{y + 10}"><style>{style}</style>'
            f'<rect width="100%" height="100%" fill="#fff"/>'
            f'<text x="8" y="18">Time by mirror\'s; shorter is faster, cut at {most:.0f}</text>'
            + "".join(rows) + "</svg>\n")


def update(page, machine, workloads):
    """Puts the tables between the page's markers; workloads that were not run keep theirs."""
    with open(page) as file:
        text = file.read()
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    sections = {}
    for part in old.split("### ")[1:]:
        sections[part.split(":")[0]] = "### " + part.strip() + "\n"
    for workload, measured in workloads:
        stamp = f"\nMeasured {machine['date']}, {machine['runs']} runs each, interleaved.\n"
        sections[workload.name] = section(workload, measured) + stamp
    middle = "\n".join(sections[name] for name in sorted(sections, key=in_order))
    with open(page, "w") as file:
        file.write(f"{head}{BEGIN}\n\n{middle}\n{END}{tail}")


def in_order(name):
    """W2 before W13, W6a before W6b."""
    digits = "".join(letter for letter in name if letter.isdigit())
    return int(digits or 0), name


def save(path, content):
    with open(path, "w") as file:
        file.write(content if isinstance(content, str) else json.dumps(content, indent=1) + "\n")
