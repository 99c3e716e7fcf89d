"""The screen in a real browser, where there is a Chromium: `pytest tests/web --browser`."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests import payloads
from tests.conftest import START
from tests.contract.client import program
from tests.started import Started
from tests.web.browser import PROGRAM, Page, browser
from tui_tasks.core.operations.tasks import AddTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store


@pytest.fixture(autouse=True)
def _asked_for(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--browser"):
        pytest.skip("not run: give --browser, where Chromium is installed")
    assert PROGRAM is not None, "no Chromium is installed"


@asynccontextmanager
async def looking(db: Path, folder: Path, *options: str) -> AsyncIterator[Page]:
    """A browser that looks at the screen."""
    command = program("web", "--db", str(db), "--port", "0", *options)
    with Started(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            async with browser(folder / "browser") as page:
                await page.open(running.stdout.readline().strip())
                await page.until("document.body?.classList.contains('-first-byte')")
                yield page
        finally:
            running.terminate()


async def changed(page: Page, file: Path, before: bytes) -> bytes:
    """The picture of the page once it is another than before."""
    for _ in range(100):
        if (now := await page.picture(file)) != before:
            return now
        await asyncio.sleep(0.1)
    raise AssertionError("the page has not changed")


def test_the_page_shows_the_panes_and_keys_and_clicks_work_and_text_of_agents_does_nothing(db, tmp_path) -> None:
    async def story() -> None:
        async with looking(db, tmp_path) as page:
            await asyncio.sleep(1)
            first = await page.picture(tmp_path / "list.png")
            await page.key("2")
            board = await changed(page, tmp_path / "board.png", first)
            await page.click(210, 8)  # the tab of the log
            await changed(page, tmp_path / "log.png", board)
            for y in range(60, 120, 18):  # rows, the address within one among them
                await page.click(300, y)
            assert await page.value("document.title") == "tui-tasks"
            assert len((await page.command("Target.getTargets"))["targetInfos"]) == 1
            assert not [line for line in page.log if re.search("violates|Uncaught|owned", line)]

    asyncio.run(story())


HTML = ("<img src=x onerror=alert(1)>", "</div><script>alert(1)</script>", "javascript:alert(1)", "&lt;b&gt; {{7*7}}")


def test_sixty_payloads_and_some_of_the_webs_own_do_nothing_to_the_page(db, tmp_path) -> None:
    with Store(str(db)) as store:
        home = task_queries.find_list(store.db, "tasklist")
        assert home is not None
        texts = [payloads.text(number, "name", 2_000) for number in range(len(payloads.PAYLOADS))]
        for text in (*texts, *HTML):
            store.commit(AddTask(text, home.uid, text), actor=text[:40].strip() or "robin", now=START)

    async def story() -> None:
        async with looking(db, tmp_path) as page:
            address = await page.value("location.href")
            await page.value("document.copied = 0; document.addEventListener('copy', () => document.copied++)")
            seen = await page.picture(tmp_path / "page.png")
            for key in "1jGgjj2lll3kkk4A":
                await page.key(key)
                await asyncio.sleep(0.3)
                seen = await page.picture(tmp_path / f"page-{key}.png")
            for y in range(20, 620, 40):
                for x in (40, 300, 900):
                    await page.click(x, y)
            assert seen
            assert await page.value("[document.title, location.href, document.copied, document.scripts.length]") == [
                "tui-tasks",
                address,
                0,
                2,
            ]
            assert len((await page.command("Target.getTargets"))["targetInfos"]) == 1
            assert not [line for line in page.log if re.search("violates|Uncaught|alert", line)]

    asyncio.run(story())


def test_the_whole_screen_changes_tasks(db, tmp_path) -> None:
    async def story() -> None:
        async with looking(db, tmp_path, "--write") as page:
            await asyncio.sleep(1)
            before = await page.picture(tmp_path / "list.png")
            await page.key("s")
            menu = await changed(page, tmp_path / "menu.png", before)
            await page.key("d")
            await changed(page, tmp_path / "done.png", menu)

    asyncio.run(story())
    with Store(str(db)) as store:
        assert task_queries.tasks_beginning(store.db, "", 1)[0].status == "done"
