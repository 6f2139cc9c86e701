"""A Slurm of this one machine for a whole test case (one_machine.sh), and a folder of its own for each test."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIPPED = 77


def why_not():
    """Why no Slurm can be started here; "" if it can."""
    if os.geteuid() != 0:
        return "not root"
    missing = [tool for tool in ("slurmctld", "slurmd", "munged", "sbatch") if shutil.which(tool) is None]
    return f"{', '.join(missing)} not installed (experiments/setup/packages.txt)" if missing else ""


class OneMachineCase(unittest.TestCase):
    cosched = ""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Path(tempfile.mkdtemp(prefix="cosched-slurm-"))
        cls.fixture = [str(HERE / "one_machine.sh")]
        subprocess.run([*cls.fixture, "start", cls.cluster], check=True, stdout=subprocess.DEVNULL)
        os.environ["SLURM_CONF"] = str(cls.cluster / "slurm.conf")

    @classmethod
    def tearDownClass(cls):
        subprocess.run([*cls.fixture, "stop", cls.cluster], check=True)
        shutil.rmtree(cls.cluster)

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="cosched-slurm-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def queue(self):
        return subprocess.run(["squeue", "-h"], capture_output=True, text=True, check=True).stdout

    def wait_for(self, holds, problem):
        for _ in range(600):
            if holds():
                return
            time.sleep(0.1)
        self.fail(f"{problem}\n{self.state()}")

    def state(self):
        """What the cluster says of itself, for a test that waited in vain."""
        told = [subprocess.run(command, capture_output=True, text=True).stdout for command in (["sinfo", "-N", "-l"], ["squeue", "-l"])]
        for log in sorted((self.cluster / "log").glob("*.log")):
            told.append(f"{log.name}:\n" + "\n".join(log.read_text().splitlines()[-20:]))
        return "\n".join(told)


def main(case, reason):
    """COSCHED [unittest arguments]; exits with 77 for this reason why not."""
    case.cosched = str(Path(sys.argv.pop(1)).resolve())
    if reason:
        print(f"SKIPPED: no Slurm can be started here: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
