#!/usr/bin/env python3
"""Is CITATION.cff valid, and of this version? citation_test.py VERSION"""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

try:
    import yaml
except ImportError:
    print("Skipped\nno python3-yaml")
    sys.exit(0)

cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
# What version 1.2.0 of the format requires, and what is said of cosched elsewhere.
for key, kind in {"cff-version": str, "message": str, "title": str, "authors": list, "abstract": str, "keywords": list}.items():
    assert isinstance(cited.get(key), kind), f"CITATION.cff: {key} is {cited.get(key)!r}, no {kind.__name__}"
assert cited["cff-version"] == "1.2.0", cited["cff-version"]
assert cited["type"] == "software", cited["type"]
assert cited["license"] == "Apache-2.0" and "Apache License" in (ROOT / "LICENSE").read_text(), cited["license"]
assert cited["version"] == sys.argv[1], f"CITATION.cff says {cited['version']}, CMakeLists.txt {sys.argv[1]}"
for author in cited["authors"]:
    assert "name" in author or {"family-names", "given-names"} & author.keys(), author
unknown = cited.keys() - {"cff-version", "message", "type", "title", "abstract", "authors", "version", "license", "keywords"}
assert not unknown, f"CITATION.cff has {unknown}"
