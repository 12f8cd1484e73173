from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from trio_mcp.mcpserver._media import Audio, File, Image
from trio_mcp.types import (
    AudioContent,
    BlobResourceContents,
    ImageContent,
    TextResourceContents,
)

if TYPE_CHECKING:
    from pathlib import Path

BYTES = bytes(range(256))


@pytest.mark.case("C063")
def test_base64_is_standard_everywhere() -> None:
    text = Image(data=BYTES).to_image_content().data
    assert "+" in text
    assert "/" in text
    assert base64.b64decode(text, validate=True) == BYTES
    assert Audio(data=BYTES).to_audio_content().data == text
    resource = File(data=BYTES).to_resource_content().resource
    assert isinstance(resource, BlobResourceContents)
    assert resource.blob == text


@pytest.mark.parametrize(
    ("image", "mime_type"),
    [
        (Image(data=b"x"), "image/png"),
        (Image(data=b"x", format="JPEG"), "image/jpeg"),
        (Image("a.png"), "image/png"),
        (Image("a.JPG"), "image/jpeg"),
        (Image("a.jpeg"), "image/jpeg"),
        (Image("a.gif"), "image/gif"),
        (Image("a.webp"), "image/webp"),
        (Image("a.tiff"), "application/octet-stream"),
        (Image("a.tiff", format="tiff"), "image/tiff"),
    ],
)
def test_mime_type_of_an_image(
    image: Image, mime_type: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if image.path is not None:
        image.path.write_bytes(b"x")
    assert image.to_image_content() == ImageContent(data="eA==", mime_type=mime_type)


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("a.wav", "audio/wav"),
        ("a.mp3", "audio/mpeg"),
        ("a.ogg", "audio/ogg"),
        ("a.flac", "audio/flac"),
        ("a.aac", "audio/aac"),
        ("a.m4a", "audio/mp4"),
        ("a.mid", "application/octet-stream"),
    ],
)
def test_mime_type_of_audio(name: str, mime_type: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"x")
    assert Audio(path).to_audio_content() == AudioContent(data="eA==", mime_type=mime_type)


def test_mime_type_of_audio_from_bytes() -> None:
    assert Audio(data=b"x").to_audio_content().mime_type == "audio/wav"
    assert Audio(data=b"x", format="mpeg").to_audio_content().mime_type == "audio/mpeg"


@pytest.mark.parametrize("kind", [Image, Audio, File])
def test_a_path_or_data_and_not_both(kind: Any) -> None:
    for arguments in ({}, {"path": "a", "data": b"x"}):
        with pytest.raises(ValueError, match=f"{kind.__name__} takes either path= or data="):
            kind(**arguments)


def test_no_bytes_are_data_too() -> None:
    assert Audio(data=b"").to_audio_content().data == ""
    assert Image(data=b"").to_image_content().data == ""


def test_a_file_is_read_when_the_content_is_made(tmp_path: Path) -> None:
    image = Image(tmp_path / "late.png")
    with pytest.raises(FileNotFoundError):
        image.to_image_content()
    (tmp_path / "late.png").write_bytes(b"x")
    assert image.to_image_content().data == "eA=="


def test_a_text_file_is_sent_as_text(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# Notes é", encoding="utf-8")
    content = File(path).to_resource_content()
    assert content.resource == TextResourceContents(
        uri=path.as_uri(), mime_type="text/markdown", text="# Notes é"
    )


def test_text_in_another_encoding_arrives_as_bytes() -> None:
    resource = File(data=b"\xff\xfe", format="txt").to_resource_content().resource
    assert resource == BlobResourceContents(
        uri="file:///file", mime_type="text/plain", blob="//4="
    )


@pytest.mark.parametrize(
    ("file", "uri", "mime_type"),
    [
        (File(data=b"{}", name="a.json"), "file:///a.json", "application/json"),
        (File(data=b"x", name="a b.bin"), "file:///a%20b.bin", "application/octet-stream"),
        (File(data=b"x", format="pdf"), "file:///file", "application/pdf"),
        (File(data=b"x", format="text/csv"), "file:///file", "text/csv"),
        (File(data=b"x"), "file:///file", "application/octet-stream"),
    ],
)
def test_uri_and_mime_type_of_a_file(file: File, uri: str, mime_type: str) -> None:
    resource = file.to_resource_content().resource
    assert (resource.uri, resource.mime_type) == (uri, mime_type)


def test_mime_type_of_a_file_can_be_given() -> None:
    resource = File(data=b"x").to_resource_content("text/x-own").resource
    assert resource == TextResourceContents(uri="file:///file", mime_type="text/x-own", text="x")


def test_repr_does_not_print_the_data() -> None:
    assert repr(Image(data=b"secret")) == "<Image 6 bytes>"
    assert repr(Image("a.png")) == "<Image 'a.png'>"
