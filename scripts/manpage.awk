# Makes a man page (mdoc(7)) of what swift-argument-parser's generate-manual writes: names as man(1) finds
# them (mirror-sync), and the examples and exit codes of the help as sections of their own. `title` is the
# page's name in capitals.

/^\.Dt / { print ".Dt " title " 1"; next }
# man(1) lists a page by one word; its synopsis has the words to type.
/^\.Nm "/ { typed = $0; sub(/^\.Nm /, "", typed); name = typed; gsub(/"/, "", name); gsub(/ /, "-", name); print ".Nm " name; next }
/^\.Nm$/ && typed { print ".Nm " typed; next }
/^\.Xr / { gsub(/\./, "-", $2); print ".Xr " $2 " " $3 ($4 ? " " $4 : ""); next }

# The help's own blocks: a heading in capitals, and lines that are indented.
/^EXAMPLES:$/ { block = "examples"; next }
/^EXIT CODES:$/ { block = "codes"; next }
block && /^  / { kept[block] = kept[block] substr($0, 3) "\n"; next }
block && /^$/ { next }
{ block = "" }

# mdoc has a macro for an empty line.
/^$/ { print ".Pp"; next }

/^\.Sh "EXIT STATUS"/ {
    if (kept["examples"]) literal("EXAMPLES", kept["examples"])
    if (kept["codes"]) literal("\"EXIT STATUS\"", kept["codes"])
    else print ".Sh \"EXIT STATUS\"\nThe codes are those of\n.Xr mirror 1 ."
    next
}
/^\.Ex / { next }
{ print }

function literal(heading, lines) {
    print ".Sh " heading
    print ".Bd -literal -offset indent"
    gsub(/\\/, "\\e", lines)
    printf "%s", lines
    print ".Ed"
}
