"""``python -m robodyn_ros`` is the ``robodyn`` command."""

import sys

from robodyn_ros.commands.command_line import main

sys.exit(main())
