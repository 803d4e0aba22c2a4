# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A real headless Chromium for tests of pages."""

import contextlib
import io
import shutil

import numpy as np
import pytest
from PIL import Image

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader",
             "--enable-unsafe-swiftshader")
PATIENCE = 120.0
"""Longest wait for an action of the browser [s]: it draws by software, on a shared processor."""


@contextlib.contextmanager
def open_browser():
    """A browser; skips the test where there is no Chromium."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make setup")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS), timeout=1000.0 * PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


def open_page(browser, url, width, height):
    """The page, once its canvas is there."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(1000.0 * PATIENCE)
    page.goto(url)
    page.wait_for_selector("canvas")
    return page


def pixels(page, clip=None):
    """Picture of the page, or of a part of it, shape (height, width, 3)."""
    return np.asarray(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")).astype(int)
