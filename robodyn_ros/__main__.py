"""``python -m robodyn_ros`` is the ``robodyn`` command."""

import sys

from robodyn_ros.cli import main

sys.exit(main())
