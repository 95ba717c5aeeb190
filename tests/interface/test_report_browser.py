"""Reports in a browser: no error, no network, and clicks and keys do what they say.

Needs Chromium with its driver (Debian: chromium, chromium-driver) and the extra ``browser``. PROOFWOOD_SCREENSHOTS
names a folder for pictures of the pages, to be looked at.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests import report_models

pytestmark = pytest.mark.needs("selenium")


MAKERS = [
    report_models.depth_four,
    report_models.diagram,
    report_models.many_nodes,
    report_models.many_classes,
    report_models.hostile,
    report_models.numbers,
    report_models.actions,
    report_models.times,
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_opens_without_an_error(reports, make, dark):
    report = reports(make).open(dark=dark)
    assert report.shown() == set(range(report.model.model_.n_nodes))
    background = report.run("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") != dark
    report.picture(f"{make.__name__}{'-dark' if dark else ''}")
    assert report.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), (
        "no page overflow"
    )
    report.assert_quiet()


def test_a_click_folds_and_unfolds_what_is_below(reports):
    report = reports(report_models.depth_four).open()
    table = report.model.model_
    low = int(table.low[0])
    below, pending = set(), [low]
    while pending:
        node = pending.pop()
        if table.feature[node] >= 0:
            for child in (int(table.low[node]), int(table.high[node])):
                below.add(child)
                pending.append(child)
    everything = set(range(table.n_nodes))
    width = float(report.one("svg.pw-model").get_dom_attribute("viewBox").split()[2])
    report.node(low).click()
    assert report.shown() == everything - below
    assert report.node(low).get_attribute("aria-expanded") == "false"
    assert report.one(f'.pw-node[data-node="{low}"] .pw-badge').text == f"+{len(below)}"
    assert float(report.one("svg.pw-model").get_dom_attribute("viewBox").split()[2]) < width, "the tree closes up"
    report.picture("folded")
    report.node(low).click()
    assert report.shown() == everything
    assert report.node(low).get_attribute("aria-expanded") == "true"
    report.one("#pw-fold").click()
    assert report.shown() == {0}
    report.one("#pw-unfold").click()
    assert report.shown() == everything
    report.assert_quiet()


def test_boxes_do_not_overlap_whatever_is_folded(reports):
    report = reports(report_models.many_nodes).open()
    report.one("#pw-as-picture").click()  # large trees are an outline at first
    table = report.model.model_
    report.one("#pw-fit").click()
    for node in (int(table.low[0]), int(table.high[int(table.high[0])])):
        report.run(
            "document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click', {bubbles: true}))",
            f'.pw-node[data-node="{node}"]',
        )
        boxes = report.run(
            "[...document.querySelectorAll('.pw-node:not(.gone) .pw-box')].map(box => {"
            "const r = box.getBoundingClientRect(); return [r.left, r.right, r.top, r.bottom]; })"
        )
        assert len(boxes) == len(report.shown()) < table.n_nodes
        for i, one in enumerate(boxes):
            for other in boxes[:i]:
                apart = one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
                assert apart, (one, other)
    report.assert_quiet()


def test_a_diagram_hides_only_what_no_other_way_leads_to(reports):
    report = reports(report_models.diagram).open()
    table = report.model.model_
    high = int(table.high[0])
    reached, pending = {0, high}, [int(table.low[0])]
    while pending:
        node = pending.pop()
        if node not in reached:
            reached.add(node)
            if table.feature[node] >= 0:
                pending += [int(table.low[node]), int(table.high[node])]
    report.node(high).click()
    assert report.shown() == reached
    report.assert_quiet()


def test_a_row_is_found_by_its_number(reports):
    for make in (report_models.depth_four, report_models.diagram, report_models.many_nodes, report_models.many_classes):
        report = reports(make).open()
        if make is report_models.many_nodes:
            report.one("#pw-as-picture").click()
        visits = report.model.decision_path(report.X)
        for row in (0, 41):
            report.find(str(row))
            assert report.picked() == set(visits[row].indices.tolist())
            edges = {
                (int(e.get_attribute("data-from")), int(e.get_attribute("data-to"))) for e in report.all(".pw-edge.on")
            }
            path = visits[row].indices.tolist()
            assert edges == set(pairwise(path))
            said = report.one("#pw-found").text
            predicted = report.model.predict(report.X[row : row + 1])[0]
            assert f"Row {row}: predicted {predicted}" in said
            assert ("which is right" in said) == (predicted == report.y[row])
        report.picture(f"{make.__name__}-row")
        report.one("#pw-clear").click()
        assert report.picked() == set()
        report.assert_quiet()


def test_rows_are_found_by_a_value(reports):
    report = reports(report_models.depth_four).open()
    day = str(report.X["since"][7])
    report.find(day)
    rows = [k for k, value in enumerate(report.X["since"].to_list()) if str(value) == day]
    buttons = report.all("#pw-found button")
    assert [button.text for button in buttons] == [f"Row {row}" for row in rows]
    buttons[0].click()
    assert f"Row {rows[0]}: predicted" in report.one("#pw-found").text
    report.find("no such value anywhere")
    assert "No row has this number or value." in report.one("#pw-found").text
    report.find("999999")
    assert "No row has this number or value." in report.one("#pw-found").text
    report.assert_quiet()


def test_the_next_wrong_row_comes_by_a_button(reports):
    report = reports(report_models.depth_four).open()
    wrong = [k for k, row in enumerate(report.model.predict(report.X) != report.y) if row]
    button = report.one("#pw-wrong")
    for row in [*wrong, wrong[0]]:
        button.click()
        assert f"Row {row}: predicted" in report.one("#pw-found").text
        assert "but it is" in report.one("#pw-found").text
        assert report.one("#pw-query").get_attribute("value") == str(row)
        assert report.picked() == set(report.model.decision_path(report.X)[row].indices.tolist())
    report.assert_quiet()


def test_a_small_tree_shows_the_path_of_the_answer(reports):
    for make in (report_models.depth_four, report_models.diagram):
        report = reports(make).open()
        table = report.model.model_
        assert len(report.all(".small-tree circle")) == table.n_nodes
        assert len(report.all(".small-tree line")) == 2 * len(list(table.splits()))
        on = report.run(
            "[...document.querySelectorAll('.small-tree circle')].flatMap((c, k) => c.matches('.on') ? [k] : [])"
        )
        path = report.run("window.proofwood.pathOf(window.proofwood.values())")
        assert on == sorted(path)
        assert len(report.all(".small-tree line.on")) == len(path) - 1
        assert report.one(".small-tree").get_attribute("aria-hidden") == "true", "the path stands in words below it"
        report.assert_quiet()
    assert reports(report_models.many_nodes).open().all(".small-tree") == [], "too many to see"


def test_names_of_columns_are_bold_in_rules_and_answers(reports):
    report = reports(report_models.depth_four).open()
    names = set(report.X.columns)
    told = report.all("#pw-rules .if b")
    assert len(told) > report.model.model_.n_leaves
    assert {bold.text for bold in told} <= names
    told = report.all("#pw-answer dl > div:first-child dd b")
    assert told
    assert {bold.text for bold in told} <= names


def test_hovering_shows_the_counts(reports):
    from selenium.webdriver.common.action_chains import ActionChains

    report = reports(report_models.depth_four).open()
    assert not report.one("#pw-tip").is_displayed()
    ActionChains(report.browser).move_to_element(report.node(0)).perform()
    told = report.one("#pw-tip").text
    assert f"{int(report.model.model_.rows[0]):,} training rows" in told
    for name, weight in zip(report.model.classes_, report.model.model_.weight[0], strict=True):
        assert f"{name}: {weight:,.0f} (" in told
    report.picture("hover")
    ActionChains(report.browser).move_to_element(report.one("h1")).perform()
    assert not report.one("#pw-tip").is_displayed()


def test_buttons_of_rules_and_rows_show_paths(reports):
    report = reports(report_models.depth_four).open()
    button = report.all("button[data-node]")[2]
    leaf = int(button.get_attribute("data-node"))
    button.click()
    assert leaf in report.picked()
    assert 0 in report.picked()
    button = report.all("button[data-row]")[0]
    row = int(button.get_attribute("data-row"))
    button.click()
    assert report.picked() == set(report.model.decision_path(report.X)[row].indices.tolist())


def test_zooming(reports):
    report = reports(report_models.many_nodes).open()
    report.one("#pw-as-picture").click()  # large trees are an outline at first
    width = lambda: float(report.one("svg.pw-model").get_attribute("width"))  # noqa: E731
    before = width()
    report.one("#pw-in").click()
    assert width() == pytest.approx(1.25 * before)
    report.one("#pw-out").click()
    assert width() == pytest.approx(before)
    report.one("#pw-full").click()
    whole = float(report.one("svg.pw-model").get_dom_attribute("viewBox").split()[2])
    assert width() == pytest.approx(whole)
    report.one("#pw-fit").click()
    assert width() <= report.run("document.getElementById('pw-view').clientWidth")


def test_keys_walk_fold_and_zoom(reports):
    from selenium.webdriver.common.keys import Keys

    report = reports(report_models.depth_four).open()
    table = report.model.model_
    report.run("document.getElementById('pw-query').focus()")
    report.press(Keys.TAB, Keys.TAB)  # the button Find, then the picture: one stop
    while report.browser.switch_to.active_element.get_attribute("data-node") is None:
        report.press(Keys.TAB)  # the box that scrolls is a stop of its own
    assert report.focused() == 0
    report.press(Keys.ARROW_LEFT)
    low = int(table.low[0])
    assert report.focused() == low
    assert report.one("#pw-tip").is_displayed()
    report.press(Keys.ARROW_RIGHT)
    assert report.focused() == int(table.high[low])
    report.press(Keys.ARROW_UP, Keys.ENTER)
    assert report.focused() == low
    assert report.node(low).get_attribute("aria-expanded") == "false"
    report.press(Keys.ARROW_LEFT)
    assert report.focused() == low, "what is folded cannot be entered"
    report.press(" ", Keys.HOME)
    assert report.node(low).get_attribute("aria-expanded") == "true"
    assert report.focused() == 0
    width = float(report.one("svg.pw-model").get_attribute("width"))
    report.press("+")
    assert float(report.one("svg.pw-model").get_attribute("width")) == pytest.approx(1.25 * width)
    assert len(report.all('.pw-node[tabindex="0"]')) == 1
    report.assert_quiet()


def test_screen_readers_get_names_roles_and_headings(reports):
    report = reports(report_models.depth_four).open()
    tree = report.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in tree if not n["ignored"]]
    assert [name for role, name in named if role == "button" and not name] == []
    nodes = [name for role, name in named if role == "button" and name.startswith("Node ")]
    assert len(nodes) == report.model.model_.n_nodes
    assert ("searchbox", "Row number, or a value") in named
    headings = [name for role, name in named if role == "heading"]
    assert headings[:4] == [
        "A tree of OptimalTreeClassifier",
        "How often it is wrong",
        "Class by class, on training rows",
        "What is proved",
    ]
    assert any(role == "main" for role, _ in named)


def test_a_page_prints_everything(reports):
    report = reports(report_models.depth_four).open()
    assert report.all("details:not([open])")
    report.run("window.dispatchEvent(new Event('beforeprint'))")
    assert not report.all("details:not([open])")
    report.run("window.dispatchEvent(new Event('afterprint'))")
    assert report.all("details:not([open])")
    printed = report.browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert len(printed) > 10_000


def test_hostile_names_are_shown_and_not_run(reports):
    report = reports(report_models.hostile).open()
    assert report.run("window.alert.toString().includes('native code')")
    assert report.all("img") == []
    assert len(report.all("script")) == 3
    assert "</script><script>alert(1)" in report.one("body").text
    for row in range(4):
        report.find(str(row))
    report.find("<img src")
    assert report.all("img") == []
    assert report.all("#pw-found li")
    report.assert_quiet()


def test_a_page_without_scripts_shows_all_but_the_tools(reports):
    report = reports(report_models.depth_four)
    report.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        report.open()
        assert report.one("svg.pw-model").is_displayed()
        assert not report.one("#pw-query").is_displayed()
        assert report.one("#proof").is_displayed()
    finally:
        report.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
