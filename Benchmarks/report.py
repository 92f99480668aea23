"""Results as a table, as JSON, and as rows on the page of the documentation."""

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
    """A workload as it is printed: a table for each case, then what its reader has to know."""
    text = "\n".join(table(case, results) for case, results in measured)
    return text + "".join(f"\n{remark}\n" for remark in workload.remarks)


# How many of the fastest other tools the page names.
NAMED = 3


def row(case, results, date):
    """A row of the page: mirror's medians, and the fastest others' time by mirror's."""
    mirror = results["mirror"]
    unit, word = (1000, "ms") if case.repeats > 1 else (1, "s")
    others = sorted((r for r in results.values() if r is not mirror and not r.flaws
                     and not r.tool.startswith("openssl")), key=lambda r: r.wall)[:NAMED]
    cells = [f"{case.name}: {case.title}",
             f"**{mirror.flaws[0]}**" if mirror.flaws else f"{mirror.wall * unit:.2f} {word}",
             f"{mirror.cpu * unit:.2f} {word}", f"{mirror.peak / MIB:.0f} MiB",
             "; ".join(f"{other.tool} {other.wall / mirror.wall:.2f}" for other in others), date]
    return f"| {' | '.join(cells)} |"


def misses(case, results):
    """A line of the page for each aim that was not reached."""
    return [f"- {case.name}: {number(value)} {words}; aim {sense} {number(bound)}"
            for words, value, bound, sense, good in goals(case, results) if not good]


def grid(workload, measured, date):
    """Rows of the page for cases that differ in their line: mirror's time, and by the best peer."""
    cells = {}
    for case, results in measured:
        mirror = results["mirror"]
        aims = goals(case, results)
        by_peer = f"{aims[0][1]:.2f}" if aims else "?"
        is_good = not mirror.flaws and aims and aims[0][4]
        cells.setdefault(case.manner_title, []).append(
            f"{mirror.wall:.2f} s, {by_peer if is_good else f'**{by_peer}**'}")
    return [f"| {workload.name}: {title} | {' | '.join(row)} | {date} |"
            for title, row in cells.items()]


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


HEAD = [
    "| workload | time | processor | memory | the fastest others | measured |",
    "|---|---:|---:|---:|---|---|"]
GRID_HEAD = [
    "| over a line | 1 ms | 20 ms | 100 ms | 300 ms | measured |",
    "|---|---:|---:|---:|---:|---|"]


def update(page, date, workloads):
    """Writes the rows between the page's markers; workloads that were not run keep theirs."""
    with open(page) as file:
        text = file.read()
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    rows, grids, missed = {}, {}, {}
    for line in old.splitlines():
        if line.startswith(("| W", "- W")):
            name = line[2:].split(":")[0]
            kind = missed if line.startswith("-") else grids if name == "W13" else rows
            kind.setdefault(name, []).append(line)
    for workload, measured in workloads:
        if workload.name == "W13":
            grids[workload.name] = grid(workload, measured, date)
        else:
            rows[workload.name] = [row(case, results, date) for case, results in measured]
            missed[workload.name] = [line for case, results in measured
                                     for line in misses(case, results)]
    lines = []
    for top, kind in ((HEAD, rows), (GRID_HEAD, grids), (["Aims that were not reached:", ""], missed)):
        body = [line for name in sorted(kind, key=in_order) for line in kind[name]]
        lines += [""] + top + body if body else []
    middle = "\n".join(lines)
    with open(page, "w") as file:
        file.write(f"{head}{BEGIN}\n{middle}\n\n{END}{tail}")


def in_order(name):
    """W2 before W13, W6a before W6b."""
    digits = "".join(letter for letter in name if letter.isdigit())
    return int(digits or 0), name


def save(path, content):
    with open(path, "w") as file:
        file.write(json.dumps(content, indent=1) + "\n")
