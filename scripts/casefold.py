#!/usr/bin/env python3
"""Writes the tables at the end of Sources/MirrorKit/Model/Text/CaseFolding.swift from Python's Unicode tables.

Full case folding (CaseFolding.txt, statuses C and F) as str.casefold() has it, and the characters
whose canonical decomposition is ASCII, so that a folded text is ASCII whenever an equivalent one is.
"""
import os
import unicodedata

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def fold(character):
    decomposed = unicodedata.normalize("NFD", character)
    if decomposed.isascii():
        return decomposed.casefold()
    return character.casefold()


single, several = [], []
for code in range(0x80, 0x110000):
    if 0xD800 <= code < 0xE000:
        continue
    folded = fold(chr(code))
    if folded == chr(code):
        continue
    if len(folded) == 1:
        single.append((code, ord(folded) - code))
    else:
        several.append((code, [ord(c) for c in folded]))

# Runs of characters with one distance, every one (stride 1) or every other one (stride 2).
runs, at = [], 0
while at < len(single):
    first, distance = single[at]
    best = (at, 1)
    for stride in (1, 2):
        end = at
        while end + 1 < len(single) and single[end + 1] == (single[end][0] + stride, distance):
            end += 1
        if end > best[0]:
            best = (end, stride)
    runs.append((first, single[best[0]][0], best[1], distance))
    at = best[0] + 1


def rows(values):
    lines, line = [], "       "
    for value in values:
        word = f" {value},"
        if len(line) + len(word) > 100:
            lines.append(line)
            line = "       "
        line += word
    return "\n".join(lines + [line])


flat_runs = [word for run in runs for word in run]
flat_several = [word for code, text in several for word in (code, len(text), *text)]
path = os.path.join(ROOT, "Sources/MirrorKit/Model/Text/CaseFolding.swift")
mark = "// Written by scripts/casefold.py"
with open(path) as source:
    code = source.read().split(mark)[0]
with open(path, "w") as out:
    out.write(code)
    out.write(f"""{mark} from Unicode {unicodedata.unidata_version}; not edited by hand.

extension CaseFolding {{
    /// Four numbers a run: first and last character, stride, and the distance to what they fold to.
    // swift-format-ignore
    private static let runs: [Int32] = [
{rows(flat_runs)}
    ]

    /// A character, how many it folds to, and those.
    // swift-format-ignore
    private static let expansions: [Int32] = [
{rows(flat_several)}
    ]
}}
""")
