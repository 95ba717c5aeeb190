"""Tables for the command line, and reports in a browser, for the tests of this folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from proofwood import write_report
from tests.command_line import worked

SCREENSHOTS = os.environ.get("PROOFWOOD_SCREENSHOTS")


@pytest.fixture(scope="module")
def browser():
    from selenium import webdriver

    names = ("chromium", "chromium-browser", "google-chrome")
    binary, driver = next(filter(None, map(shutil.which, names)), None), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("there is no Chromium with chromedriver: install Debian's chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield chrome
    chrome.quit()


class Report:
    """A report in the browser."""

    def __init__(self, browser, path, model):
        self.browser, self.path, self.model = browser, path, model

    def open(self, *, dark=False):
        value = "dark" if dark else "light"
        media = {"features": [{"name": "prefers-color-scheme", "value": value}]}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.browser.set_window_size(1300, 1000)
        self.browser.get_log("browser")
        self.browser.get(self.path.as_uri())
        return self

    def all(self, selector):
        from selenium.webdriver.common.by import By

        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        (found,) = self.all(selector)
        return found

    def run(self, script, *arguments):
        return self.browser.execute_script(f"return {script}", *arguments)

    def node(self, node):
        return self.one(f'.pw-node[data-node="{node}"]')

    def shown(self):
        return {int(box.get_attribute("data-node")) for box in self.all(".pw-node:not(.gone)")}

    def picked(self):
        return {int(box.get_attribute("data-node")) for box in self.all(".pw-node.on")}

    def find(self, text):
        field = self.one("#pw-query")
        field.clear()
        field.send_keys(text, "\n")

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains

        chain = ActionChains(self.browser)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def focused(self):
        return int(self.browser.switch_to.active_element.get_attribute("data-node"))

    def picture(self, name):
        if SCREENSHOTS:
            Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
            self.browser.save_screenshot(str(Path(SCREENSHOTS) / f"{name}.png"))

    def assert_quiet(self):
        assert self.browser.get_log("browser") == []
        loaded = self.run("performance.getEntriesByType('resource').map(one => one.name)")
        assert loaded == [], "a report loads nothing"


@pytest.fixture(scope="module")
def reports(browser, tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("reports"), {}

    def report(make, language="en"):
        if (make, language) not in made:
            model, X, y = make()
            path = folder / f"{make.__name__}-{language}.html"
            write_report(model, path, X, y, include_rows=model.model_.values is None, language=language)
            made[make, language] = (path, model, X, y)
        path, model, X, y = made[make, language]
        found = Report(browser, path, model)
        found.X, found.y = X, y
        return found

    return report


@pytest.fixture(scope="session")
def iris():
    return load_iris(return_X_y=True)


def write_noise(path):
    """A table on which nothing is proved within a test."""
    random = np.random.default_rng(0)
    frame = pl.DataFrame(random.random((1500, 12))).with_columns(y=pl.Series(random.integers(0, 2, 1500)))
    frame.write_csv(path)
    return path


@pytest.fixture
def noise(tmp_path):
    return write_noise(tmp_path / "noise.csv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Iris, a tree of it, and noise, for the command line."""
    folder = tmp_path_factory.mktemp("command-line")
    worked("data", "iris", "--out", folder / "iris.csv")
    worked("fit", folder / "iris.csv", "--target", "species", "--max-depth", 2, "--out", folder / "tree.json")
    write_noise(folder / "noise.csv")
    return folder
