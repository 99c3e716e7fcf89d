"""The recorded demonstration of the README: its scenes show what their captions say, and its file has these scenes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from html import unescape

import pytest

from tests.docs import demo
from tests.docs.animation import Frame, svg


@pytest.fixture(scope="module")
def frames() -> list[Frame]:
    return demo.record()


def scene(frames: list[Frame], caption: str) -> str:
    """The text of the last frame of a scene."""
    return [frame.text for frame in frames if frame.caption.startswith(caption)][-1]


def test_the_scenes_show_what_their_captions_say(frames: list[Frame]) -> None:
    assert "Rotate keys" in scene(frames, "Add a task")
    assert "found 3 keys" in scene(frames, "An agent takes it")
    assert demo.ANSWER in scene(frames, "An agent asks")
    assert "uses pyjwt" in scene(frames, "It continues")
    for caption in ("The board", "The log"):
        assert "Rotate keys" in scene(frames, caption)
    assert "opencode-1" in scene(frames, "Every agent")


def test_the_file_has_these_scenes_and_is_small(frames: list[Frame]) -> None:
    text = demo.FILE.read_text()
    captions = [unescape(found) for found in re.findall(r'class="caption"[^>]*>([^<]*)<', text)]
    assert captions == [frame.caption for frame in frames], "python -m tests.docs.demo writes it anew"
    assert len(text.encode()) < 1_000_000


def test_each_frame_is_visible_in_its_own_part_of_the_loop(frames: list[Frame]) -> None:
    root = ElementTree.fromstring(svg(frames[:3], demo.COLUMNS, demo.LINES))
    (style,) = root.iter("{http://www.w3.org/2000/svg}style")
    shown = re.findall(r"([\d.]+)% \{ visibility: visible \}", style.text or "")
    hidden = re.findall(r"([\d.]+)% \{ visibility: hidden \} 100%", style.text or "")
    assert [float(each) for each in shown[1:]] == [float(each) for each in hidden[:-1]]
    assert (shown[0], float(hidden[-1])) == ("0", 100)
