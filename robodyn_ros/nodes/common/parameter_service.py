# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The parameter services of a node, which answer also requests with a type that no parameter has.

rclpy's own raise an exception at such a request, and its sender waits in vain.
"""

from __future__ import annotations

from rcl_interfaces.msg import Parameter, SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_service import ParameterService


class CheckedParameterService(ParameterService):
    """rclpy's parameter services with a check of the types.

    Args:
        node: The node whose parameters are served.
    """

    def _set_parameters_callback(self, request: SetParameters.Request, response: SetParameters.Response
                                 ) -> SetParameters.Response:
        for parameter in request.parameters:
            refusal = _refusal([parameter])
            if refusal is None:
                super()._set_parameters_callback(SetParameters.Request(parameters=[parameter]), response)
            else:
                response.results.append(refusal)
        return response

    def _set_parameters_atomically_callback(
            self, request: SetParametersAtomically.Request, response: SetParametersAtomically.Response
    ) -> SetParametersAtomically.Response:
        refusal = _refusal(request.parameters)
        if refusal is None:
            return super()._set_parameters_atomically_callback(request, response)
        response.result = refusal
        return response


def _refusal(parameters: list[Parameter]) -> SetParametersResult | None:
    for parameter in parameters:
        try:
            parameter_value_to_python(parameter.value)
        except RuntimeError:
            return SetParametersResult(successful=False, reason=f"parameter '{parameter.name[:100]}': expected a type "
                                       f"of rcl_interfaces/ParameterType, received {parameter.value.type}")
    return None
