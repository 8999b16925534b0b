"""State files: of transformWithState Spark notes where the schemas of its state are, by the whole
path. After the checkpoint was moved out of the side root the notes name files that are gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.contract.files import write_whole

if TYPE_CHECKING:
    from upath import UPath


def follow_move(checkpoint: UPath, pipeline: str) -> None:
    """Let the notes of a checkpoint that was moved name its own files. It may be done twice.

    Only the folders of the side root leave the paths, so that a URL stays as Spark writes it.
    """
    version = checkpoint.parent.name
    now = f"/checkpoints/{pipeline}/{version}/{checkpoint.name}/state/"
    was = f"/rebuilds/{pipeline}{now}"
    for note in checkpoint.glob("state/*/_metadata/v2/*"):
        if not note.name.isdigit() or was not in (text := note.read_text()):
            continue
        # Before the text: by the old checksum Hadoop would refuse the new text.
        note.with_name(f".{note.name}.crc").unlink(missing_ok=True)
        write_whole(note, text.replace(was, now))
