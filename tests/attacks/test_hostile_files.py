"""Files from a stranger (log folders, bundles, releases of packs): what was not signed is not accepted."""

import asyncio
import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz import bundles
from signed_log import (
    KEY,
    RECEIVED,
    TRUST,
    bundle_with_messages,
    files_of,
    leaves_of,
    signed_release,
)

from lictor.errors import LictorError
from lictor_cli.log import verify
from lictor_cli.log.sources import exported_tree, reader
from lictor_seal import (
    ReleaseError,
    SigningKey,
    TrustStore,
    audit_files,
    entry_file,
    open_release,
    sign_note,
    verify_bundle,
)
from lictor_seal.log.tiles import Edge

RUN = Path(__file__).parent / "fuzz/run.py"
LEAVES = leaves_of(5)
LICTOR = ("-c", "import sys; from lictor_cli.main import main; sys.exit(main())")


def put(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A good log of five leaves, with what older exports left."""
    files = files_of(LEAVES)
    for size in (1, 3):
        files |= dict(Edge().append(LEAVES[:size])[0].partial_tiles())
        files |= dict([entry_file(0, LEAVES[:size])])
    (tmp_path / "trust.json").write_bytes(TRUST.to_bytes())
    return put(tmp_path / "log", files)


def code_of(log: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    options = Namespace(directory=str(log), trust=str(log.parent / "trust.json"), since=None)
    options.json, options.url = False, None
    return asyncio.run(verify.run(options)), capsys.readouterr().out


def test_what_older_exports_left_is_part_of_the_log(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = code_of(log, capsys)
    assert (code, "all of it holds" in told) == (0, True), told


def other_leaf(count: int) -> list[bytes]:
    return [*LEAVES[: count - 1], leaves_of(1, longest=10)[0]]


SPARE: dict[str, Callable[[], dict[str, bytes]]] = {
    "an unknown file": lambda: {"README": b"trust me"},
    "a hidden file": lambda: {".checkpoint.7": b""},
    "a file in an unknown folder": lambda: {"old/checkpoint": b""},
    "another checkpoint in another case": lambda: {
        "Checkpoint": files_of(LEAVES[:3])["checkpoint"]
    },
    "another tile in another case": lambda: {"tile/0/000.P/5": b"x" * 160},
    "a full tile beside the partial one": lambda: {"tile/0/000": b"x" * 8192},
    "a wider partial tile": lambda: {"tile/0/000.p/7": b"x" * 224},
    "an older partial tile of another log": lambda: {"tile/0/000.p/3": b"x" * 96},
    "an older partial tile that is too long": lambda: {
        "tile/0/000.p/3": dict(Edge().append(LEAVES[:4])[0].partial_tiles())["tile/0/000.p/4"]
    },
    "an empty older partial tile": lambda: {"tile/0/000.p/2": b""},
    "a tile of a level that the log has not": lambda: {"tile/1/000.p/1": b"x" * 32},
    "a tile behind the end": lambda: {"tile/0/001.p/1": b"x" * 32},
    "a tile with a width that is not spelled so": lambda: {"tile/0/000.p/05": b""},
    "older entries of another log": lambda: dict([entry_file(0, other_leaf(4))]),
    "entries behind the end": lambda: dict([entry_file(1, LEAVES[:1])]),
    "more entries than were signed": lambda: dict([entry_file(0, [*LEAVES, b"{}"])]),
    "the same entries in the other folder": lambda: {"entries-u32/000.p/5": b""},
    "full entries beside the partial ones": lambda: {"tile/entries/000": b"x"},
    "a hand-over that is none": lambda: {"hand-over/0": b"x"},
    "a hand-over out of order": lambda: {"hand-over/1": b"x"},
}


@pytest.mark.parametrize("spare", SPARE)
def test_a_spare_file_beside_a_valid_log_is_reported(
    log: Path, capsys: pytest.CaptureFixture[str], spare: str
) -> None:
    files = SPARE[spare]()
    put(log, files)
    code, told = code_of(log, capsys)
    assert code == 1
    assert all(f"FAIL  {name}:" in told for name in files), told


def test_links_and_pipes_are_no_part_of_a_log(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (log / "spare").symlink_to(log / "checkpoint")
    (log / "more").symlink_to(log)
    os.mkfifo(log / "pipe")
    code, told = code_of(log, capsys)
    assert code == 1
    assert [f"FAIL  {name}:" in told for name in ("spare", "more", "pipe")] == [True] * 3
    for name in ("spare", "more", "pipe"):
        (log / name).unlink()
    # Not in place of a file either: it would be waited for, or be another one a moment later.
    kept = (log / "checkpoint").rename(tmp_path / "kept")
    (log / "checkpoint").symlink_to(kept)
    with pytest.raises(LictorError, match="can't be read"):
        code_of(log, capsys)
    (log / "checkpoint").unlink()
    os.mkfifo(log / "checkpoint")
    with pytest.raises(LictorError, match="no regular file"):
        code_of(log, capsys)


def test_a_folder_that_leads_elsewhere_is_no_part_of_a_log(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (log / "tile").rename(tmp_path / "tile")
    (log / "tile").symlink_to(tmp_path / "tile")
    code, told = code_of(log, capsys)
    assert (code, "FAIL  tile:" in told) == (1, True)


def test_a_huge_file_is_not_read_into_memory(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (log / "tile/0/000.p/5").open("r+b") as tile:
        tile.truncate(2**40)
    with pytest.raises(LictorError, match="more than 1000000 bytes"):
        code_of(log, capsys)


def test_a_log_of_many_tiles_is_explained_whole_and_each_spare_is_found() -> None:
    leaves = leaves_of(300, longest=70_000)
    files = files_of(leaves)
    assert "entries-u32/001.p/44" in files
    assert audit_files(files.get, TRUST, names=files).ok
    # The beginning of the long bundle has only short entries, and so another folder.
    begun = files | dict([entry_file(1, leaves[256:290])])
    assert "tile/entries/001.p/34" in begun
    assert audit_files(begun.get, TRUST, names=begun).ok
    for name in ("tile/entries/001.p/43", "tile/1/000.p/2", "tile/0/000.p/256"):
        found = {**files, name: b"x"}
        report = audit_files(found.get, TRUST, names=found)
        assert [each.where for each in report.findings] == [name]


def test_the_command_fails_with_code_1_and_says_what_to_do(log: Path) -> None:
    put(log, {"tile/0/000": b"x" * 8192})
    command = [sys.executable, *LICTOR, "log", "verify", str(log), "--trust"]
    done = subprocess.run(
        [*command, str(log.parent / "trust.json"), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["ok"] is False
    assert told["findings"][0]["where"] == "tile/0/000"
    assert "remove it" in told["findings"][0]["what"]


def test_no_proof_is_made_from_tiles_that_the_checkpoint_does_not_sign(log: Path) -> None:
    """`log prove`, `log cosign`, `seal renew` and `seal verify --proof` read the tree by this."""
    assert exported_tree(log).size == 5
    tile = log / "tile/0/000.p/5"
    tile.write_bytes(tile.read_bytes()[:-1] + b"x")
    with pytest.raises(LictorError, match="do not have the root of its checkpoint"):
        exported_tree(log)
    assert reader(log)("tile/0/999") is None


BUNDLE = bundle_with_messages()


@pytest.mark.parametrize(
    "data",
    [
        BUNDLE + b"\n",
        BUNDLE + b"{}\n",
        BUNDLE + BUNDLE.splitlines(keepends=True)[-1],
        b"".join(BUNDLE.splitlines(keepends=True)[:-1]),
        b"\n" + BUNDLE,
        BUNDLE.replace(b'{"', b'{"a":1,"', 1),
        BUNDLE[:-2] + b',"spare":1}\n',
        BUNDLE.replace(b'"leafIndex":1', b'"leafIndex":1,"leafIndex":1', 1),
        BUNDLE.replace(b'"leafIndex":1', b'"leafIndex":1.0', 1),
        BUNDLE.replace(b"\n", b"\r\n"),
        BUNDLE.rstrip(b"\n"),
    ],
)
def test_a_bundle_with_spare_lines_or_members_is_refused(data: bytes) -> None:
    assert verify_bundle(BUNDLE, TRUST).ok
    assert data != BUNDLE
    assert not verify_bundle(data, TRUST).ok


def test_a_release_signed_as_something_else_or_by_a_stranger_is_refused() -> None:
    release = signed_release()
    open_release(release, TRUST, RECEIVED)
    text = release.decode().partition("\n\n")[0]
    stranger = SigningKey.from_seed(KEY.name, bytes(32))
    for forged in (
        sign_note(f"{text}\n", stranger),
        sign_note(text.replace('"number":7', '"number":8') + "\n", stranger),
        sign_note(text.replace("lictor-pack-release/v1", "lictor-approval/v1", 1) + "\n", KEY),
        sign_note(f"{text}\n{{}}\n", KEY),
        sign_note(text.replace('"number":7', '"number":7,"number":8') + "\n", KEY),
        sign_note(text.replace('"expires_at"', '"Expires_at"') + "\n", KEY),
    ):
        with pytest.raises(ReleaseError):
            open_release(forged.encode(), TRUST, RECEIVED)
    with pytest.raises(ReleaseError):
        open_release(release, TrustStore.of([stranger.verifying_key]), RECEIVED)


def test_altered_bundles_logs_and_releases_are_refused() -> None:
    """`./taskw fuzz` alters many more."""
    tally = bundles.fuzz(400, seed=7)
    assert (tally.refused, tally.wrong) == (400, [])


def test_hostile_hook_inputs_let_nothing_through() -> None:
    """In a process of its own, because it forks. `./taskw fuzz` gives many more."""
    arguments = ("--target", "hook-inputs", "--count", "60", "--seed", "7", "--json")
    done = subprocess.run(
        [sys.executable, RUN, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done
    told = json.loads(done.stdout)
    assert (told["applied"], told["refused"], told["wrong"]) == (60, 60, 0)
