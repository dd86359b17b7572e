"""Tests that the locks of the tests and of the images agree, with one another and with Go."""

import pathlib
import re

import pytest

ENTRYPOINTS = pathlib.Path(__file__).resolve().parents[1]
IMAGES = ENTRYPOINTS.parent / "images"
TESTED = ENTRYPOINTS / "requirements-models.txt"
LOCKS = sorted([*ENTRYPOINTS.glob("requirements-*.txt"), *IMAGES.glob("*/requirements.txt")])


def locked(path):
    """Returns the version of each package in a lock."""
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", path.read_text(), re.MULTILINE))


def test_an_image_has_what_the_tests_ran_with():
    tested = locked(TESTED)
    for name in ("aurora", "llm"):
        image = locked(IMAGES / name / "requirements.txt")
        assert len(image) > 50
        assert {p: v for p, v in image.items() if tested.get(p, v) != v} == {}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_lock_has_the_ray_of_the_platform(lock):
    pinned = (ENTRYPOINTS.parents[1] / "versions.go").read_text()
    (version,) = re.findall(r'\tRayVersion = "(\S+)"', pinned)
    assert locked(lock)["ray"] == version


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_has_a_protobuf_that_ray_serve_cannot_use(lock):
    # Its controller reads FieldDescriptor.label, which protobuf 7 has not: nothing is deployed.
    assert int(locked(lock)["protobuf"].partition(".")[0]) < 7


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_has_a_hash(lock):
    blocks = re.split(r"^(?=[a-z0-9-]+==)", lock.read_text(), flags=re.MULTILINE)[1:]
    assert [b.split()[0] for b in blocks if "--hash=sha256:" not in b] == []


def test_images_are_made_from_the_default_image():
    pinned = (ENTRYPOINTS.parents[1] / "versions.go").read_text()
    (version,) = re.findall(r'\tRayVersion = "(\S+)"', pinned)
    (before, after) = re.findall(r'RayImage = "(\S+)" \+ RayVersion \+ "(\S+)"', pinned)[0]
    for file in IMAGES.glob("*/Dockerfile"):
        assert f"ARG BASE={before}{version}{after}\n" in file.read_text()
