"""Prints `valid` or `refused` for each JSON file, by a JSON Schema: json-schema.py SCHEMA FILE…"""
import json
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for path in sys.argv[2:]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            document = json.load(file)
        print("valid" if validator.is_valid(document) else "refused", path)
    except ValueError:
        print("refused", path)
