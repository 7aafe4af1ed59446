"""Put what the library reads beside the package into wheels (meterdp.core.regular). All else is in pyproject.toml."""

from pathlib import Path
from shutil import copyfile

from setuptools import setup
from setuptools.command.build_py import build_py

# By name, as in MANIFEST.in: people put files of their own into these folders.
SHIPPED = (
    "workflow/schemas/*.schema.yaml",
    "resources/attacks.csv",
    "resources/datasets.yaml",
    "resources/household_plan.csv",
    "resources/plan.csv",
    "resources/simulator.yaml",
    "resources/prior_mixture/*.json",
)


class BuildWithShipped(build_py):
    """Copy the files into the package, unless it is used from the checkout."""

    def run(self):
        super().run()
        if not self.editable_mode:
            for path in (path for pattern in SHIPPED for path in Path().glob(pattern)):
                to = Path(self.build_lib, "meterdp/shipped", path)
                to.parent.mkdir(parents=True, exist_ok=True)
                copyfile(path, to)


setup(cmdclass={"build_py": BuildWithShipped})
