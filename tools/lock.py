"""Renews requirements/lock.txt after a change to another requirements file: python tools/lock.py, then make setup.

Run it in the environment that ``make setup`` made, with the oldest Python that is supported.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

from environment import EVERYWHERE, LOCK, REQUIREMENTS, ROS

HEADER = """\
# Every version, direct or not, that the other files here resolve to: pip's constraints for `make setup`.
# Renewed by `python tools/lock.py`.
"""


def main() -> None:
    """Let pip resolve all requirements anew, and write the versions that it would install."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    for name in (*EVERYWHERE, ROS):
        command += ["--requirement", str(REQUIREMENTS / f"{name}.txt")]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    metadata = [item["metadata"] for item in report["install"]]
    versions = {re.sub(r"[-_.]+", "-", each["name"]).lower(): each["version"] for each in metadata}
    lines = [f"{name}=={version}" for name, version in sorted(versions.items())]
    LOCK.write_text(HEADER + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
