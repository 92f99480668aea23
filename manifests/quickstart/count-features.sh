#!/bin/sh
# Counts the features of a GeoJSON file: count-features.sh FILE
set -eu
grep -c '"type": "Feature",' "$1"
