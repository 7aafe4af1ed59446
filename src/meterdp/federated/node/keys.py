"""Key pairs of nodes, in the certificate files of ZeroMQ: ``NAME.key`` is public, ``NAME.key_secret`` is not."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from pathlib import Path

import zmq.auth

from meterdp.errors import InputError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


def new_keys(folder, name: str) -> tuple[Path, str]:
    """Make a key pair.

    Parameters
    ----------
    folder : path-like
    name : str
        Of the node.

    Returns
    -------
    secret_file : Path
        Readable by its owner only; the public key lies beside it.
    public_key : str
        For the agreement.

    Raises
    ------
    InputError
        If the name is no name of a node, or has keys already.
    """
    if not NAME.fullmatch(name):
        raise InputError(
            "is no name for a node", field="name", hint="use up to 40 letters, digits, dashes and underscores"
        )
    folder = Path(folder)
    files = [folder / f"{name}.key", folder / f"{name}.key_secret"]
    for file in files:
        if os.path.lexists(file):
            raise InputError("is there already", file=file, hint="use another name, or keep the keys you have")
    before = os.umask(0o077)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as own:
            zmq.auth.create_certificates(own, name)
            for file in files:  # in the place of a link that somebody put there meanwhile, not through it
                os.replace(Path(own, file.name), file)
    except OSError as error:
        raise InputError(
            f"keys cannot be written ({os.strerror(error.errno)})", file=folder, hint="name another folder"
        ) from None
    finally:
        os.umask(before)
    return files[1], zmq.auth.load_certificate(files[0])[0].decode()


def read_secret(file) -> tuple[bytes, bytes]:
    """Return the public and the secret key in a file that only its owner can read.

    Raises
    ------
    InputError
        If it is no such file.
    """
    try:
        if stat.S_IMODE(os.stat(file).st_mode) & 0o077:
            raise InputError("can be read by others", file=file, hint="take their permission away (chmod 600)")
        public, secret = zmq.auth.load_certificate(file)
    except (OSError, ValueError):
        public = secret = None
    if secret is None:
        raise InputError("holds no secret key", file=file, hint="make one with `meterdp node --new-keys FOLDER NAME`")
    return public, secret
