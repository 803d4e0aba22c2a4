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
import tempfile

import numpy as np
import pytest
from PIL import Image

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader",
             "--enable-unsafe-swiftshader")


_drivers = []
"""The one that runs, while there are pages: there cannot be two in a thread."""


@contextlib.contextmanager
def running_driver(playwright):
    """Playwright's driver, shared by all pages that are open."""
    if _drivers:
        yield _drivers[0]
        return
    with playwright.sync_playwright() as driver:
        _drivers.append(driver)
        try:
            yield driver
        finally:
            _drivers.clear()


@contextlib.contextmanager
def open_page(url, width=960, height=600):
    """The page, once its canvas is there; skips the test where there is no Chromium."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make setup")
    with tempfile.TemporaryDirectory(prefix="robodyn_chromium_") as profile, running_driver(playwright) as driver:
        browser = driver.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, headless=True, args=list(ARGUMENTS),
            viewport={"width": width, "height": height})
        try:
            page = browser.new_page()
            page.set_default_timeout(120_000)
            page.goto(url)
            page.wait_for_selector("canvas")
            yield page
        finally:
            browser.close()


def pixels(page, clip=None):
    """Picture of the page, or of a part of it, shape (height, width, 3)."""
    return np.asarray(Image.open(io.BytesIO(page.screenshot(clip=clip, timeout=120_000))).convert("RGB")).astype(int)
