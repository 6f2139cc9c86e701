#!/usr/bin/env python3
"""Does an installation work by itself? install_test.py CMAKE BUILD_FOLDER: it is installed in one folder, moved to another, and used from
there with the source and build trees hidden, where this user may hide them (`unshare`); else only what it prints is looked at."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE, BUILD = sys.argv[1], Path(sys.argv[2]).resolve()
SOURCE = Path(__file__).resolve().parents[2]
SECONDS = 240
HIDE = ["unshare", "--mount", "--map-root-user"] if os.geteuid() else ["unshare", "--mount", "--propagation", "private"]


def may_hide():
    tried = subprocess.run([*HIDE, "mount", "-t", "tmpfs", "none", str(SOURCE)], capture_output=True, check=False)
    return tried.returncode == 0


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(dir=None if not Path(tempfile.gettempdir()).is_relative_to(SOURCE) else "/var/tmp")
        cls.work = Path(cls.folder.name) / "work"
        cls.work.mkdir()
        first = Path(cls.folder.name) / "first"
        installed = subprocess.run([CMAKE, "--install", str(BUILD), "--prefix", str(first)], capture_output=True, text=True,
                                   timeout=SECONDS, check=False)
        assert installed.returncode == 0, installed.stderr
        cls.prefix = Path(cls.folder.name) / "moved"
        first.rename(cls.prefix)
        cls.hides = may_hide()
        print(f"the source tree is {'hidden' if cls.hides else 'NOT hidden: unshare is refused here'}")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def call(self, *command, expect=0, home=None):
        """Its output, of both kinds."""
        environment = {"HOME": str(home or self.work), "PATH": f"{self.prefix}/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "MPLBACKEND": "Agg",
                       "COSCHED_LOCKS": str(self.work), "PYTHONDONTWRITEBYTECODE": "1"}
        words = [str(word) for word in command]
        if self.hides:
            words = [*HIDE, "sh", "-euc", 'mount -t tmpfs none "$0"; exec "$@"', str(SOURCE), *words]
        ran = subprocess.run(words, cwd=self.work, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertEqual(ran.returncode, expect, f"{command}: {ran.stdout}{ran.stderr}")
        text = ran.stdout + ran.stderr
        self.assertNotIn(str(SOURCE), text, f"{command} names the source tree")
        return text

    def test_it_tells_its_version_and_needs_no_library_of_the_build(self):
        self.assertRegex(self.call("cosched", "--version"), r"^cosched \d+\.\d+\.\d+ \(commit ")
        for file in [self.prefix / "bin/cosched", *self.prefix.glob("lib/**/*.so*")]:
            tags = self.call("readelf", "-d", file)
            self.assertNotRegex(tags, "RPATH|RUNPATH", file)
            self.assertNotIn("not found", self.call("ldd", file))
            self.assertNotIn("/.cache/", self.call("ldd", file))

    def test_an_experiment_runs_by_its_name_with_plots_and_records_that_hold(self):
        said = self.call("cosched", "run", "simulated", "--set", "trials=2")
        run = self.work / re.search(r"results: (\S+)", said)[1]
        self.assertGreater(len(list(run.glob("plots/*.png"))), 2, said)
        self.call(self.prefix / "share/cosched/tests/check_results.py", run)
        shutil.rmtree(self.work / "results")

    def test_the_quickstart_is_found_and_each_shipped_experiment_is_under_the_prefix(self):
        self.assertIn("quickstart", self.call("cosched", "run", "quickstart", "--dry-run", "--set", "machine.kernel_rates=fixed"))
        shipped = self.call("cosched", "list", "experiments").splitlines()[1:]
        self.assertGreater(len(shipped), 10)
        for line in shipped:
            self.assertTrue(line.split()[1].startswith(f"{self.prefix}/share/cosched/experiments/"), line)
        self.assertIn("did you mean \"quickstart\"?", self.call("cosched", "run", "quickstrat", expect=2))

    def test_figures_are_there(self):
        self.assertIn("fig_control", self.call("cosched", "list", "figures"))

    def test_who_may_not_write_beside_figures_prepares_them_in_the_own_cache(self):
        figures = self.prefix / "share/cosched/experiments/figures"
        figures.chmod(0o555)
        self.addCleanup(figures.chmod, 0o755)
        home = self.work / "home"
        home.mkdir()
        for folder in (Path(self.folder.name), self.work, home):
            folder.chmod(0o777)
        another = [] if os.geteuid() else ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]  # Root may write anywhere.
        said = self.call(*another, "cosched", "reproduce", "fig_pipeline_stages", "--quick", "--dry-run", home=home)
        [copy] = home.glob(".cache/cosched/tree-*/experiments/figures")
        if shutil.which("wgsim") and Path("/usr/share/doc/bowtie/examples/genomes").exists():
            self.assertTrue((copy / "inputs/reads_1.fq").exists(), said)
        else:
            self.assertRegex(said, "no wgsim|no /usr/share/doc/bowtie")

    def test_an_openmp_program_gets_the_library_that_is_preloaded(self):
        said = self.call("cosched", "wrap", "--client", "openmp", "--", "sh", "-c", "echo preloaded: $LD_PRELOAD")
        self.assertIn(f"preloaded: {self.prefix}/lib/cosched/libcosched_openmp.so", said)

    def test_a_policy_compiles_against_the_headers_and_decides(self):
        if not shutil.which("g++"):
            self.skipTest("no g++")
        source = self.prefix / "share/cosched/experiments/examples/policy_library/largest_first.cc"
        self.call("g++", "-std=c++20", "-fPIC", "-shared", f"-I{self.prefix}/include/cosched", source, "-o", "largest_first.so")
        said = self.call("cosched", "run", "simulated", "--set", "trials=2", "--no-plots", "--policy-library", "./largest_first.so")
        self.assertIn("largest-first", said)
        shutil.rmtree(self.work / "results")

    def test_a_program_compiles_and_links_with_the_client(self):
        if not shutil.which("gcc"):
            self.skipTest("no gcc")
        (self.work / "program.c").write_text("#include <experiments/client/cosched_client.h>\n"
                                             "int main(void) { return cosched_connect() != 0; }\n")
        library = next(self.prefix.glob("lib/**/libcosched_client.so"))
        self.call("gcc", f"-I{self.prefix}/include/cosched", "program.c", library, f"-Wl,-rpath,{library.parent}", "-o", "program")
        self.call("./program")
        self.call(sys.executable, "-c", f"import sys; sys.path.insert(0, '{self.prefix}/share/cosched/experiments/client'); import cosched")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
