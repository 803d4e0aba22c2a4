# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Settings of Sphinx, for `make docs` and for rosdoc2, which builds docs.ros.org. The build needs no network.

rosdoc2 runs this file from another folder, with its own theme, beside the installed package.
"""

import importlib.util
import re

import robodyn_ros


def installed(*names: str) -> list[str]:
    """Return the modules that can be imported."""
    return [name for name in names if importlib.util.find_spec(name)]


project = author = html_title = "robodyn_ros"
release = robodyn_ros.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon",
              "sphinx.ext.mathjax", *installed("sphinx_copybutton", "sphinx-mathjax-offline")]
# Those after the first one are what rosdoc2 puts beside these pages, for an index of its own in place of index.md.
exclude_patterns = ["_build", "index.rst", "__*.rst", "CHANGELOG.rst", "CONTRIBUTING.md", "README.md"]
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_theme = [*installed("furo"), "alabaster"][0]
html_show_copyright = False
html_show_sourcelink = False

myst_heading_anchors = 4
# Formulas as GitHub shows them, too: $…$ and blocks of the language math. sphinx-mathjax-offline puts MathJax into the
# pages, so that they need no network either.
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_dmath_double_inline = False
copybutton_prompt_text = "$ "

default_role = "code"
napoleon_use_ivar = True
autodoc_typehints = "none"  # signatures and docstrings name types already
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
# rosdoc2 has what package.xml names, and puts stand-ins for the rest of it; llvmlite has no rosdep key.
autodoc_mock_imports = [] if installed("llvmlite") else ["llvmlite"]

LITERAL = re.compile(r"(`+[^`]+`+)")
MARKUP = re.compile(r"[*|]|(?<=\w)_(?=\W|$)")


def escape_formulas(app, what, name, obj, options, lines):
    """Keep formulas in docstrings, such as a* or |e|, from being read as markup."""
    for number, line in enumerate(lines):
        parts = LITERAL.split(line)
        parts[::2] = [MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
        lines[number] = "".join(parts)


def skip_fields(app, what, name, obj, skip, options):
    """Leave out what the docstring of its class describes: the fields of a named tuple."""
    return True if (getattr(obj, "__doc__", "") or "").startswith("Alias for field number") else None


def setup(app):
    """Escape before napoleon reads the docstrings."""
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("autodoc-process-docstring", escape_formulas, priority=400)
