from robodyn_ros.base.errors import CompileError as CompileError
from robodyn_ros.base.errors import DescriptionError as DescriptionError
from robodyn_ros.base.errors import DescriptionWarning as DescriptionWarning
from robodyn_ros.base.errors import InputError as InputError
from robodyn_ros.base.errors import PluginError as PluginError
from robodyn_ros.base.errors import RobodynError as RobodynError
from robodyn_ros.base.errors import SimulationError as SimulationError
from robodyn_ros.robot import Robot as Robot
from robodyn_ros.simulation.plant import Plant as Plant
from robodyn_ros.simulation.plant_model import PlantModel as PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop as ClosedLoop
from robodyn_ros.simulation.rollout import rollout as rollout
from robodyn_ros.simulation.rollout import rollout_scores as rollout_scores

__version__: str
