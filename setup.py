"""Put what the library reads beside the package into wheels (meterdp.core.shipped). All else is in pyproject.toml."""

from pathlib import Path
from shutil import copytree

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = ("workflow/schemas", "resources")


class BuildWithShipped(build_py):
    """Copy the folders into the package, unless it is used from the checkout."""

    def run(self):
        super().run()
        if not self.editable_mode:
            for folder in SHIPPED:
                copytree(folder, Path(self.build_lib, "meterdp/shipped", folder), dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithShipped})
