#!/usr/bin/env python3
"""Writes Sources/MirrorKit/Model/Text/DisplayWidthTable.swift from Python's Unicode tables.

Characters that take two columns of a terminal: East Asian Width W and F (UAX #11). Those that take
none are known to the standard library by their general category.
"""
import os
import unicodedata

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

runs = []
for code in range(0x1100, 0x110000):
    if 0xD800 <= code < 0xE000:
        continue
    # Unassigned characters of the planes of ideographs are wide (UAX #11, section 5.1).
    character = chr(code)
    isAssigned = unicodedata.category(character) != "Cn"
    wide = unicodedata.east_asian_width(character) in "WF" and isAssigned
    wide = wide or 0x20000 <= code <= 0x3FFFD
    if not wide:
        continue
    if runs and runs[-1][1] == code - 1:
        runs[-1][1] = code
    else:
        runs.append([code, code])

lines = ["// Written by scripts/textwidth.py from Unicode %s; not edited by hand." % unicodedata.unidata_version, ""]
lines += ["extension DisplayWidth {",
          "    /// The first and the last character of each run that takes two columns.",
          "    static let wide: [(first: UInt32, last: UInt32)] = ["]
row = "       "
for first, last in runs:
    item = " (0x%X, 0x%X)," % (first, last)
    if len(row) + len(item) > 100:
        lines.append(row)
        row = "       "
    row += item
lines += [row, "    ]", "}", ""]
with open(os.path.join(ROOT, "Sources/MirrorKit/Model/Text/DisplayWidthTable.swift"), "w") as out:
    out.write("\n".join(lines))
