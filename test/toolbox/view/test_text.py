# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Names and messages on the page stay text."""

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from robodyn_ros.toolbox.view.text import color_key, color_of, plain  # noqa: E402


@pytest.mark.parametrize("write", [plain, lambda text: color_key((text,))])
def test_what_the_graph_says_is_no_html(write):
    assert "<script" not in write("<script>alert(1)</script>") and "&lt;script&gt;" in write("<script>")


def test_colors_begin_again():
    assert color_of(0) == color_of(10) != color_of(1)
