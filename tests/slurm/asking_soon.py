"""Snakemake, but it asks Slurm every second what became of its jobs.

As it comes, it asks after some seconds, and ten seconds later each time that no job has ended: jobs that take five
seconds would mostly wait to be noticed.
"""

import asyncio
import sys

from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor


async def _a_second(executor) -> None:
    await asyncio.sleep(1)


RemoteExecutor.sleep = _a_second

if __name__ == "__main__":
    sys.exit(main())
