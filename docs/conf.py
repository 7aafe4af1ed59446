"""Settings of the documentation site (``make docs``).

The sources are the Markdown pages where they lie, so that relative links work on a git host and in the site alike.
What follows from the code or from a finished study is written in while the site is built (``_site/written.py``), and
notebooks are run (``_site/notebooks.py``).
"""

import gc
import os
import sys
from pathlib import Path

gc.disable()  # what looks for garbage takes a fifth of the time, and a site of this size fits into memory
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
sys.path.insert(0, str(ROOT / "src"))

from _site.notebooks import RUN, not_run  # noqa: E402

project = "meterdp"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "_site.written"]
root_doc = "docs/index"
include_patterns = ["*.md", "config/README.md", "docs/**.md"]
exclude_patterns = [".*", "build", "dist", "results*", "src", "tests", "tools", "workflow", "profiles", "resources"]
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!meterdp\b).*")]  # types of other packages: looking them up needs a network

nb_execution_mode = "force" if RUN else "off"
nb_execution_excludepatterns = not_run()
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
myst_heading_anchors = 4
smartquotes_action = "D"  # dashes only: quotes that are shown can be typed
default_role = "code"
napoleon_google_docstring = False
autodoc_typehints = "none"  # docstrings say them, with shapes and units
autodoc_member_order = "bysource"
# Of a finished study and of a reproduction, for the gallery.
gallery_results = str((ROOT / os.environ.get("METERDP_RESULTS", "results")).resolve())

# Blocks without a language are commands and what is printed.
highlight_language = "none"
html_theme = "furo"
html_title = "meterdp"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
templates_path = ["_site/templates"]
html_additional_pages = {"index": "to_landing_page.html"}
html_copy_source = False
html_use_index = False
html_show_copyright = False
