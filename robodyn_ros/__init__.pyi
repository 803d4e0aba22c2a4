from robodyn_ros.errors import CompileError as CompileError
from robodyn_ros.errors import DescriptionError as DescriptionError
from robodyn_ros.errors import DescriptionWarning as DescriptionWarning
from robodyn_ros.errors import InputError as InputError
from robodyn_ros.errors import PluginError as PluginError
from robodyn_ros.errors import RobodynError as RobodynError
from robodyn_ros.errors import SimulationError as SimulationError
from robodyn_ros.robot import Robot as Robot
from robodyn_ros.simulation.rollout import rollout as rollout

__version__: str
