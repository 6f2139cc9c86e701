#!/usr/bin/env python3
"""Are the manual pages and completions that cosched writes of itself right? manuals_test.py COSCHED: man and mandoc read each page
without a warning, each option of --help is in its page, and bash, zsh and fish complete by the scripts (those that are here)."""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COSCHED = str(Path(sys.argv[1]).resolve())


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)


class ManualsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.pages = Path(cls.folder.name) / "man"
        written = run(COSCHED, "manuals", str(cls.pages))
        assert written.returncode == 0, written.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_each_page_is_read_without_a_warning(self):
        pages = sorted(self.pages.glob("*.1"))
        self.assertGreater(len(pages), 30)
        readers = [command for command in (["man", "--warnings", "--local-file"], ["mandoc", "-T", "lint", "-W", "warning"])
                   if shutil.which(command[0])]
        if not readers:
            self.skipTest("neither man nor mandoc")
        for page in pages:
            for reader in readers:
                read = run(*reader, str(page), env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MANWIDTH": "80"})
                told = read.stderr if reader[0] == "man" else read.stdout + read.stderr
                self.assertEqual((read.returncode, told), (0, ""), f"{reader[0]} of {page.name}")

    def test_a_page_has_what_help_has(self):
        for page in self.pages.glob("*.1"):
            words = page.stem.split("-")[1:]
            if words[:2] == ["pipeline", "run"] and len(words) == 4:
                words[2:] = ["align-sort"]
            told = run(COSCHED, *words[:1], *(["TARGET"] if words[:1] == ["ctl"] else []), *words[1:], "--help")
            self.assertEqual(told.returncode, 0, f"{page.name}: {told.stderr}")
            options = re.findall(r"^  (?:-\w,)?(--[\w-]+)", told.stdout, re.MULTILINE)
            self.assertIn("--help", options, page.name)
            text = page.read_text().replace("\\-", "-")
            for option in options:
                self.assertIn(option, text, page.name)
            self.assertIn(".SH EXAMPLES", text, page.name)

    def completion(self, shell):
        written = run(COSCHED, "completion", shell)
        self.assertEqual(written.returncode, 0, written.stderr)
        script = Path(self.folder.name) / f"completion.{shell}"
        script.write_text(written.stdout)
        return script

    def test_bash_completes(self):
        script = self.completion("bash")

        def complete(line):
            words = re.findall(r"=|[^\s=]+|(?<=\s)$", line)  # As bash breaks them.
            quoted = " ".join(f"'{word}'" for word in words)
            told = run("bash", "-uc", f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _cosched; "
                                      'printf "%s\\n" "${COMPREPLY[@]}"')
            self.assertEqual(told.stderr, "", line)
            return told.stdout.split()

        self.assertEqual(complete("cosched ru"), ["run", "runs"])
        self.assertEqual(complete("cosched run --f"), ["--force"])
        self.assertEqual(complete("cosched run --launcher "), ["local", "slurm"])
        self.assertEqual(complete("cosched run --launcher=s"), ["slurm"])
        self.assertEqual(complete("cosched trace de"), ["describe"])
        self.assertEqual(complete("cosched ctl tenant.sock st"), ["status", "stop"])
        self.assertEqual(complete("cosched ctl tenant.sock set --s"), ["--signal"])
        self.assertEqual(complete("cosched list k"), ["keys"])
        self.assertEqual(complete("cosched run --out "), [])  # Files: bash's own completion.
        self.assertEqual(complete("cosched wrap -- ls --f"), [])
        self.assertNotIn("node", complete("cosched "))  # Hidden: for the harness alone.

    def test_zsh_completes(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        script = self.completion("zsh")

        def complete(*words):
            # What zsh's own functions are asked to offer.
            stubs = ("_describe() { [[ $1 == -o ]] && shift; print -l -- ${(P)2%%:*}; }; compadd() { shift; print -l -- $@; }; "
                     "_files() { print FILES; }; compdef() { :; }; ")
            quoted = " ".join(f"'{word}'" for word in words)
            told = run("zsh", "-fc", f"{stubs} source {script}; words=({quoted}); CURRENT={len(words)}; PREFIX='{words[-1]}'; _cosched")
            self.assertEqual(told.stderr, "", words)
            return told.stdout.split()

        self.assertIn("run", complete("cosched", ""))
        self.assertIn("--force", complete("cosched", "run", "--"))
        self.assertEqual(complete("cosched", "run", "--launcher", ""), ["local", "slurm"])
        self.assertEqual(complete("cosched", "trace", ""), ["describe", "convert", "generate"])
        self.assertEqual(complete("cosched", "wrap", "--", ""), ["FILES"])

    def test_fish_completes(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        script = self.completion("fish")

        def complete(line):
            told = run("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'",
                       env={"HOME": self.folder.name, "PATH": "/usr/bin:/bin"})
            self.assertEqual(told.stderr, "", line)
            return [offer.split("\t")[0] for offer in told.stdout.splitlines()]

        self.assertEqual(complete("cosched ru"), ["run", "runs"])
        self.assertIn("--force", complete("cosched run --f"))
        self.assertEqual(complete("cosched run --launcher "), ["local", "slurm"])
        self.assertEqual(complete("cosched trace de"), ["describe"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
