"""A Slurm cluster of this machine alone, for as long as a test needs it.

Everything lies in a temporary folder but slurm.conf: the steps of a job look for it where the distribution expects
it, whatever the environment says.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

CONF = Path("/etc/slurm/slurm.conf")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "sinfo")
# The node claims more of everything than the machine has: groups ask for a processor a member, and what is tested is
# that they are computed, not how fast.
CPUS = 16
MEMORY_MB = 64_000
WAIT_S = 60

_SETTINGS = """\
ClusterName=alone
SlurmctldHost={host}
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_interval=1,batch_sched_delay=0
EnforcePartLimits=ALL
ReturnToService=2
KillWait=5
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory_mb} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str | None:
    """Return in a sentence why no cluster can be started here, or nothing."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"{missing[0]} is not installed (Debian packages slurm-wlm and munge)"
    if os.getuid() != 0:
        return "only root can start Slurm"
    if CONF.exists():
        return f"this machine has a Slurm of its own ({CONF})"
    return None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _until(what: str, holds, logs: Path) -> None:
    end = time.monotonic() + WAIT_S
    while not holds():
        if time.monotonic() > end:
            said = "".join(f"\n{log.name}: {log.read_text()[-1500:]}" for log in sorted(logs.glob("*.log")))
            raise RuntimeError(f"{what} did not happen within {WAIT_S} s{said}")
        time.sleep(0.1)


def said(*command: str) -> str:
    """Return what a command of Slurm prints."""
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S).stdout


@contextmanager
def _running(log: Path, *command: str) -> Iterator[None]:
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def jobs() -> list[str]:
    """Return the ids of all jobs that wait or run."""
    return said("squeue", "--noheader", "--format=%i").split()


@contextmanager
def one_node() -> Iterator[Path]:
    """Start a cluster of this machine, end it and all its jobs afterwards; yields the folder of its logs."""
    # Whoever ends the tests must not leave a cluster behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-")))
        # Clients of munge look for its socket here, whoever they are.
        folder.chmod(0o755)
        key, munge = folder / "munge.key", folder / "munge.socket"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        options = [f"--{kind}-file={folder}/munge.{kind}" for kind in ("log", "pid", "seed")]
        host = socket.gethostname().split(".")[0]
        stack.callback(CONF.unlink, missing_ok=True)
        CONF.parent.mkdir(exist_ok=True)
        CONF.write_text(
            _SETTINGS.format(
                host=host,
                controller_port=_free_port(),
                node_port=_free_port(),
                folder=folder,
                cpus=CPUS,
                memory_mb=MEMORY_MB,
            )
        )
        (folder / "state").mkdir()
        (folder / "spool").mkdir()
        stack.enter_context(
            _running(
                folder / "munge.out.log",
                *("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}", *options),
            )
        )
        _until("the start of munge", munge.exists, folder)
        stack.enter_context(_running(folder / "slurmctld.out.log", "slurmctld", "-D"))
        stack.enter_context(_running(folder / "slurmd.out.log", "slurmd", "-D", "-N", host))
        _until("the start of Slurm", lambda: said("sinfo", "--noheader", "--format=%t").strip() == "idle", folder)
        try:
            yield folder
        finally:
            said("scancel", "--user=root")
            _until("the end of all jobs", lambda: not jobs(), folder)
