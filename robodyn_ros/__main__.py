"""``python -m robodyn_ros`` is the ``robodyn`` command."""

import sys

from robodyn_ros.entry_points import main

sys.exit(main())
