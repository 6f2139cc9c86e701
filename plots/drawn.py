"""What has been drawn is not drawn again: what a script printed is kept beside its plots, and printed anew while the records and the
scripts are what they were."""
import contextlib
import hashlib
import io
import json
import os
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
RECORDS = (".csv", ".csv.gz", ".json", ".json.gz")


def state_of(run):
    """A digest of the records of a run or sweep, by their sizes and times, and of the scripts."""
    digest = hashlib.sha256()
    files = [path.relative_to(run) for path in run.rglob("*") if path.name.endswith(RECORDS)]
    scripts = [path.relative_to(SCRIPTS) for pattern in ("*.py", "expected/*.json") for path in SCRIPTS.glob(pattern)]
    of_records = [(run, path) for path in sorted(files) if "plots" not in path.parts[:-1]]
    for folder, path in [*of_records, *((SCRIPTS, path) for path in sorted(scripts))]:
        told = (folder / path).stat()
        digest.update(f"{path}\0{told.st_size}\0{told.st_mtime_ns}\n".encode())  # However the caller has spelled the folder.
    return digest.hexdigest()


class Printed(io.StringIO):
    """Goes to `out`, too, for as long as somebody reads that: who pipes it into `head` has seen enough, and the plots are drawn."""

    def __init__(self, out):
        super().__init__()
        self.out = out

    def write(self, text):
        tell(self.out, text)
        return super().write(text)


def tell(out, text):
    try:
        out.write(text)
        out.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def are_there(said):
    """The files whose paths were printed, a line each."""
    return all(Path(line).exists() for line in said.splitlines() if line.endswith((".png", ".pdf", ".csv", ".claims.json")))


def once(run, out, draw):
    """draw() prints what it drew, into out's folder; or, if that is there already, what it printed when it did. Raises what draw() does."""
    run, note = Path(run), out.with_name(out.name + ".drawn.json")
    state = state_of(run)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(note.read_text())
        said = kept["said"].replace("{out}", str(out.parent))
        if kept["state"] == state and are_there(said):
            return tell(sys.stdout, f"{said}drawn before, from the same records; to have it drawn anew remove {note}\n")
    with contextlib.redirect_stdout(Printed(sys.stdout)) as printed:
        draw()
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps({"state": state, "said": printed.getvalue().replace(str(out.parent), "{out}")}, indent=1) + "\n")
