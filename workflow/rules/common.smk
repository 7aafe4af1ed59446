# Configuration, paths and the hash of the source behind a rule.
# Needs:  the configuration.    Gives:  PRIVATE, STUDY, SHARDS, PRIOR_MIXTURE, code_of() and what is drawn from what for the other rule files.
import os
import sys
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
# The packages beside the workflow are those that run, also inside --sdm conda and when used as a module. A workflow
# that is read from a Git server has none beside it: then the installed ones run.
CHECKOUT = (ROOT / "src/meterdp").is_dir()
if CHECKOUT:
    sys.path.insert(0, str(ROOT / "src"))

if lacking := [
    package for package in ("meterdp", "numpy", "pyarrow") if find_spec(package) is None
]:
    raise SystemExit(
        f"meterdp cannot go on. The environment of Snakemake lacks {', '.join(lacking)}: run `make install`, or install "
        "requirements.txt there (docs/howto/install.md). --sdm conda serves jobs alone."
    )

from meterdp.audit import CANARIES
from meterdp.audit import SETTINGS as AUDITED_SETTINGS
from meterdp.federated.circuits import graph_file
from meterdp.core.choices import names_in
from meterdp.core.config import load_schema, looked_through
from meterdp.core.config import refuse_templates, shown_epsilon
from meterdp.core.log_scale import SCALE_KEYS
from meterdp.errors import REFUSAL, InputError, refusals
from meterdp.core.provenance import share_source, shipped, source_hash
from meterdp.core.steps import StepReport, seconds_per_job
from meterdp.core.job import stop_on_sigterm
from meterdp.ingest.members import state_of
from meterdp.simulate.parameters import describe_simulated
from meterdp.report.registry import FIGURES, OF_FEDERATIONS, TABLES, figure_of
from meterdp.mechanisms.proven.prior_mixture import prior_mixture_files
from meterdp.forecasting.settings import AHEAD, POINTS, PROCESS, some_of, studied
from meterdp.profiles.constants import SEASON
from meterdp.profiles.grid import LOCAL_TIME_KEYS
from meterdp.publish.kinds import KINDS
from meterdp.release.settings import refusals_of

share_source()
# glibc hands big arrays back to the system and faults them in again a moment later; jobs keep up to 256 MB instead.
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(2**28))
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(2**25))
# What the user wrote, what it may be, and where it stands.
GIVEN = (
    config,
    load_schema(shipped("workflow/schemas/config.schema.yaml")),
    " + ".join(os.path.relpath(c) for c in workflow.configfiles) or "config",
)
try:
    # Of another workflow that uses this one as a module the files are its own.
    if workflow.modifier.namespace is None:
        refuse_templates(workflow.configfiles)
    config, problems = looked_through(*GIVEN)
    if problems:
        raise SystemExit("\n".join(f"{REFUSAL} {problem}" for problem in problems))
    export = config["export"]["path"]
    if export is None:
        describe_simulated(config)
    elif not Path(export).exists():
        raise InputError(
            "is not a file or folder",
            file=export,
            field="export.path",
            hint="give the path of the meter export",
        )
    neighbours = config["neighbourhoods"]
    if neighbours["by"] == "file" and not Path(neighbours["file"]).is_file():
        raise InputError(
            "is not a file",
            file=neighbours["file"],
            field="neighbourhoods.file",
            hint="give the path of the pairs of neighbours",
        )
    # Which circuits speak with which, if not all or those next to each other by name.
    GRAPH_FILE = graph_file(config["federation"])
    if GRAPH_FILE and not Path(GRAPH_FILE).is_file():
        raise InputError(
            "is neither 'complete' nor 'ring' nor a file",
            file=GRAPH_FILE,
            field="federation.graph",
            hint="give the path of the pairs of circuits",
        )
    # Prior mixture that the proven release starts from, if any.
    PRIOR_MIXTURE = prior_mixture_files(config["mechanisms"]["sound"]["prior_mixture"])
    if not all(Path(file).is_file() for file in PRIOR_MIXTURE):
        raise InputError(
            "is not a folder with the mixture.json and manifest.json of a released mixture",
            file="config",
            field="mechanisms.sound.prior_mixture",
            hint="name such a folder, 'simulated' or null",
        )
    published = Path(config["results_dir"]) / "release"
    if any(
        published.resolve() in Path(file).resolve().parents for file in PRIOR_MIXTURE
    ):
        raise InputError(
            "lies where this study's own releases are put, so that every release would ask for another one",
            file="config",
            field="mechanisms.sound.prior_mixture",
            hint="copy the folder elsewhere and name the copy",
        )
except InputError as error:
    raise SystemExit(f"{REFUSAL} {error.of_configuration(GIVEN[2])}") from None

STARTED = time.time()
RESULTS = Path(config["results_dir"])
PRIVATE = RESULTS / "private"
STUDY = RESULTS / "study"
SHARDS = [f"{s:03d}" for s in range(config["shards"])]
SIMULATED = config["export"]["path"] is None
# The section as far as it says anything: without circuits the rest of it is no reason to run anything.
FEDERATION = config["federation"] if config["federation"]["by"] is not None else None
# Of a mixture that circuits fitted, in place of one fitted here.
FITTED_ELSEWHERE = STUDY / "federated_mixture.parquet" if FEDERATION else []
# What is in a folder, as a hash: its files may be called after meters, and Snakemake prints and keeps names of inputs.
FOLDER_STATE = None if SIMULATED else state_of(config["export"]["path"])
AUDIT = RESULTS / "audit"
AUDIT_PARTS = [*names_in("audit.study.PARTS"), CANARIES]
# Tables the report reads, by name.
REPORTED = {
    name: table
    for name, table in TABLES.items()
    if FEDERATION or name not in OF_FEDERATIONS
}
# Figures of the study by name.
DRAWINGS = [figure.name for figure in FIGURES]
# What a study shows is as private as what it is made of: some of it is single households' readings.
for folder in (PRIVATE, STUDY):
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)


wildcard_constraints:
    shard=r"\d\d\d+",
    mechanism=r"\w+",


def code_of(script):
    """Hash of the source that workflow/scripts/<script>.py imports: a change in src/ reruns what depends on it."""
    path = f"scripts/{script}.py"
    return source_hash(
        ROOT / "workflow" / path if CHECKOUT else workflow.source_path(f"../{path}")
    )


@cache
def before_release():
    """Say what a release is expected to be worth and what it charges, or refuse it, before any job runs."""
    # Not in the process of a job again.
    if not workflow.is_main_process:
        return
    # A study is planned without what it needs.
    from meterdp.cli.release import before_release, refused_words
    from meterdp.publish.folder import is_published

    refused, said, stored = [*refusals_of(config, SIMULATED)], [], {}
    if not refused:
        refused, said, stored = before_release(config, SIMULATED)
    for what, files in stored.items() if not refused and not workflow.dryrun else ():
        if not is_published(RESULTS / "release" / what, files):
            (PRIVATE / f"release/{what}.published").unlink(missing_ok=True)
    if "METERDP_PLAN_SAID" not in os.environ:
        print("\n".join(said), file=sys.stderr)
    if refused:
        raise SystemExit(refused_words(refused, config, *GIVEN))


def said_before_release(wildcards):
    """An input of every rule that charges, so that none is reached before the plan is said; it has no file."""
    before_release()
    return []


def what_to_release(wildcards):
    """What says of every folder the configuration wants that it was published."""
    before_release()
    return [PRIVATE / f"release/{what}.published" for what in config["release"]["what"]]
