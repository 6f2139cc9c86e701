"""What the tests of --json share: one document on standard output, as its schema says."""
import json
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import jsonschema
except ImportError:
    jsonschema = None

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from simulated_experiment import ROOT, Cosched  # noqa: E402

SCHEMAS = ROOT / "experiments/schemas"
BINARY = None  # Given on the command line.


def check(document, schema):
    """ValidationError unless `document` is as experiments/schemas/SCHEMA.schema.json describes it."""
    described = json.loads((SCHEMAS / f"{schema}.schema.json").read_text())
    resolver = jsonschema.RefResolver(base_uri=f"{SCHEMAS.as_uri()}/{schema}.schema.json", referrer=described)
    jsonschema.Draft7Validator(described, resolver=resolver).validate(document)


class JsonTestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cosched = Cosched(BINARY, self.folder)

    def document(self, *arguments, schema, code=0):
        """The one document that the command prints with these arguments, --json among them."""
        result = self.cosched(*arguments, code=code)
        document = json.loads(result.stdout)
        check(document, schema)
        self.assertEqual((document["schema"], document["version"]), (f"cosched-{schema}", 1))
        self.assertEqual(document.get("exit", code), code)
        return document


def main():
    global BINARY
    BINARY = sys.argv.pop(1)
    if jsonschema is None:
        print("Skipped\nneeds python3-jsonschema")
        sys.exit(0)
    unittest.main("__main__")
