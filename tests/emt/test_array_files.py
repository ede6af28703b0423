import io
import os
import zipfile

import numpy as np
import pytest

from emt.array_files import load_arrays, naming, save_arrays

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "none": np.zeros((0, 4), np.int32), "one": np.array(7, np.uint64)}


def test_arrays_come_back_as_they_went_in(tmp_path):
    save_arrays(tmp_path / "file", {"format": "x-1", "n": [1, None]}, ARRAYS)
    about, arrays = load_arrays(tmp_path / "file")
    assert about == {"format": "x-1", "n": [1, None]}
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_the_same_arrays_are_the_same_file(tmp_path):
    for name in ("one", "other"):
        save_arrays(tmp_path / name, {}, ARRAYS)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_numpy_reads_the_arrays_too(tmp_path):
    save_arrays(tmp_path / "file.npz", {}, ARRAYS)
    with np.load(tmp_path / "file.npz") as file:
        np.testing.assert_array_equal(file["a"], ARRAYS["a"])


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    save_arrays(tmp_path / "file", {}, ARRAYS)
    before = (tmp_path / "file").read_bytes()
    with pytest.raises(ValueError, match="Object arrays"):
        save_arrays(tmp_path / "file", {}, {"a": ARRAYS["a"], "b": np.array([None])})
    assert (tmp_path / "file").read_bytes() == before
    assert os.listdir(tmp_path) == ["file"]


def write(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)


def member(array, **changes):
    """An array as a member of an archive; changes are to what its header says."""
    content = io.BytesIO()
    np.lib.format.write_array(content, array)
    whole = content.getvalue()
    for said, lie in changes.items():
        assert said.encode() in whole or said == "shape"
        whole = whole.replace(f"'{said}': {array.shape}".encode(), f"'{said}': {lie}".encode())
    return whole


ABOUT = ("about.json", "{}")
BOMB = member(np.zeros(10**6))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("a.npy", BOMB)], "about.json"),
        ([ABOUT, ("a.txt", "hello")], "members of another kind"),
        ([ABOUT, ("a.npy", member(np.array(["text"])))], "not of numbers"),
        ([ABOUT, ("a.npy", member(np.zeros(3, [("x", "f8")])))], "not of numbers"),
        ([ABOUT, ("a.npy", member(np.zeros(3), shape="(99999999999999,)"))], "not as long as it says"),
        ([ABOUT, ("a.npy", member(np.zeros(4), shape="(-2, -2)"))], "an array has shape"),
        ([ABOUT, ("a.npy", member(np.zeros(4), shape="(2,)"))], "not as long as it says"),
        ([ABOUT, ("a.npy", b"\x93NUMPY\x07\x00")], "another version"),
        ([ABOUT, ("a.npy", b"")], "EOF|magic"),
        ([("about.json", "[1]")], "no names"),
    ],
    ids=str,
)
def test_archives_that_are_no_files_of_arrays_are_refused(members, message, tmp_path):
    write(tmp_path / "file", members)
    with pytest.raises((ValueError, KeyError), match=message):
        load_arrays(tmp_path / "file")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_comes_twice_is_refused(tmp_path):
    write(tmp_path / "file", [ABOUT, ("a.npy", BOMB), ("a.npy", BOMB)])
    with pytest.raises(ValueError, match="twice"):
        load_arrays(tmp_path / "file")


def test_a_small_file_of_much_is_refused_before_anything_is_unpacked(tmp_path, monkeypatch):
    write(tmp_path / "file", [ABOUT, ("a.npy", BOMB)], zipfile.ZIP_DEFLATED)
    assert (tmp_path / "file").stat().st_size < len(BOMB) / 100
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("a member was opened"))
    with pytest.raises(ValueError, match="compressed"):
        load_arrays(tmp_path / "file")


def test_members_that_share_their_bytes_are_refused(tmp_path):
    """The directory at the end of an archive may name one place many times."""
    names = [f"{k:02}.npy" for k in range(20)]
    write(tmp_path / "file", [ABOUT, *((name, member(np.zeros(1000))) for name in names)])
    with zipfile.ZipFile(tmp_path / "file", "a") as archive:
        places = {name: archive.getinfo(name).header_offset for name in names}
        keep = places[names[1]]
        for name in names:
            archive.getinfo(name).header_offset = places[names[0]]
        archive.fp.truncate(keep)
        archive.start_dir, archive._didModify = keep, True
    with pytest.raises(ValueError, match="larger than itself"):
        load_arrays(tmp_path / "file")


def test_a_damaged_file_is_named_and_a_missing_one_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"), naming("x", "a thing"):
        load_arrays(tmp_path / "nowhere")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match="text is not a thing, or is damaged: BadZipFile"), naming("text", "a thing"):
        load_arrays(tmp_path / "text")
