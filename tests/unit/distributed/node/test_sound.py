"""The sound release with noise in shares runs over the same links as any sum; here with the noise of a study."""

import itertools
import threading
from dataclasses import replace

import numpy as np
import pytest

from meterdp.distributed.graph import complete
from meterdp.distributed.node.links import Links
from meterdp.distributed.node.protocol import PROTOCOLS
from meterdp.distributed.shared_noise import SharedSums, release_at_node, release_together
from meterdp.mechanisms.interface import PublicSettings
from meterdp.mechanisms.sound.mechanism import Sound
from meterdp.mechanisms.sound.plan import SoundSettings
from meterdp.release.noise import StudyNoise
from tests.unit.distributed.node.made_up import settings_of, write_agreement
from tests.unit.mechanisms.made_up import FLOOR, HIGH, LOW, households

N, D, K, NODES = 240, 2, 3, 4


@pytest.mark.parametrize("scheme", ["secure_sum", "edge_masks"])
def test_nodes_release_what_threads_of_one_process_do(tmp_path, scheme):
    """Oracle: ``release_together`` with the same noise; masks are others, and cancel."""
    shared = SharedSums(scheme, complete(NODES), 1)
    sound = Sound.calibrate(PublicSettings(2.0, 1e-5, K, D, N, LOW, HIGH, FLOOR, SoundSettings(shares=shared.shares)))
    parts = np.split(households(0, N, D, K), [60, 61, 150])
    expected = release_together(
        sound, shared, parts, [StudyNoise(1, "share", i) for i in range(NODES)], np.random.default_rng(0)
    )
    file = tmp_path / "agreement.yaml"
    keys = write_agreement(file, NODES, scheme=scheme, graph="complete")
    outcome = {}

    def run(i):
        settings = settings_of(file, keys, i)
        own = replace(settings.agreement.scheme, wraps=True)
        try:
            with Links(settings, own.links.neighbours(i), own.links.diameter, 100_000, lambda text: None) as links:
                links.greet()
                step = itertools.count()
                outcome[i] = release_at_node(
                    sound,
                    parts[i],
                    StudyNoise(1, "share", i),
                    lambda vector: own.total(links, next(step), vector),
                    finite_masks=False,
                )
                links.all_done(next(step))
        except BaseException as error:
            outcome[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(NODES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for i in range(NODES):
        assert not isinstance(outcome[i], BaseException), outcome
        for name in ("weights", "means", "covariances"):
            assert np.array_equal(getattr(outcome[i].mixtures, name), getattr(expected[0].mixtures, name))


def test_every_scheme_but_one_sums_what_lies_on_the_grid_of_the_noise_whatever_its_size(tmp_path):
    """On a grid of its own and of any size, modulo 2^64; real masks leave no exact sum."""
    for name in PROTOCOLS:
        file = tmp_path / f"{name}.yaml"
        keys = write_agreement(file, NODES, scheme=name, graph="complete")
        scheme = settings_of(file, keys, 0).agreement.scheme
        if name == "subspace":
            with pytest.raises(ValueError, match="not exact"):
                scheme.on_grid(2.0**-28)
        else:
            words = vars(scheme.on_grid(2.0**-28))
            assert words["links"] is scheme.links
            assert (words.get("step", 2.0**-28), words.get("wraps", True)) == (2.0**-28, True)
