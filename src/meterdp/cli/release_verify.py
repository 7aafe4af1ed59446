"""``meterdp release verify``: is a folder what was released?"""

from __future__ import annotations

import argparse

EXAMPLES = ("meterdp release verify results/release", "meterdp release verify results/release/mixture")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("folder", help="a released folder such as results/release/mixture, or results/release itself")


def run(arguments: argparse.Namespace) -> int:
    """Check every file of the folder and print the guarantee.

    Raises
    ------
    InputError
        If the folder is no release, or not as its manifest says.
    """
    from meterdp.release.received import BESIDE, MANIFEST, released_folders, verify

    for folder in released_folders(arguments.folder):
        received = verify(folder)
        manifest, count = received.manifest, len(received.files)
        first, last = manifest["period"]
        print(f"{folder}: {count} declared file{'s' if count > 1 else ''}, all as the manifest says")
        print(f"  of {manifest['population']}, {first} to {last}", end="")
        print(", simulated" if manifest["simulated_data"] else "")
        for guarantee in received.guarantees:
            print(f"  {guarantee}")
        if received.expected_error:
            print(f"  expected error: {received.expected_error}")
        for words in ("hides", "does_not_hide"):
            for sentence in manifest["privacy"][words]:
                print(f"  {words.replace('_', ' ')}: {sentence}")
    print("Checksums tell whether declared files were changed after the manifest was written, not who wrote it.")
    print(f"{', '.join(name for name in BESIDE if name != MANIFEST)} have none.")
    return 0
