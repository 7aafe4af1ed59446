"""OpenSynth's Faraday on daily profiles, without privacy; runs in the environment of that library.

``python faraday_days.py GIVEN.npz WRITTEN.npz``. It imports nothing of this project. As in the library's tutorial, an
autoencoder is trained on standardised energy with month and day of the week as labels, a Gaussian mixture on what it
encodes and the labels, and days are drawn from the mixture and decoded, each with the labels drawn with it.
"""

from __future__ import annotations

import logging
import sys
import time
import warnings
from importlib.metadata import version

import numpy as np
import pytorch_lightning as lightning
import torch
from opensynth.models.faraday import FaradayModel, FaradayVAE
from torch.utils.data import DataLoader, IterableDataset

# Of the tutorial, with twelve times as many steps. The mixture is that of the library's own large run.
STEPS, BATCH, LATENT, MSE_WEIGHT = 30_000, 200, 16, 3
COMPONENTS, COVARIANCE_REG, MIXTURE_EPOCHS = 200, 1e-4, 100
# Days that the mixture is fitted to, at most.
MIXTURE_DAYS = 25_000
SEED = 7


class Batches(IterableDataset):
    """Days in random order, in batches as the library wants them."""

    def __init__(self, energy: torch.Tensor, labels: dict[str, torch.Tensor], size: int):
        self.energy, self.labels, self.size = energy, labels, min(size, len(energy))

    def __len__(self) -> int:
        return len(self.energy) // self.size

    def __iter__(self):
        order = torch.randperm(len(self.energy))
        for i in range(len(self)):
            rows = order[i * self.size : (i + 1) * self.size]
            yield {"kwh": self.energy[rows], "features": {name: of[rows] for name, of in self.labels.items()}}


class Days(lightning.LightningDataModule):
    def __init__(self, *given):
        super().__init__()
        self.batches = Batches(*given)

    def train_dataloader(self) -> DataLoader:
        return DataLoader(self.batches, batch_size=None)


def trained(energy: torch.Tensor, labels: dict[str, torch.Tensor]) -> FaradayModel:
    network = FaradayVAE(class_dim=len(labels), latent_dim=LATENT, input_dim=energy.shape[1], mse_weight=MSE_WEIGHT)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(max_steps=STEPS, max_epochs=-1, accelerator="cpu", **quiet)
    trainer.fit(network, Days(energy, labels, BATCH))
    model = FaradayModel(network, COMPONENTS, max_epochs=MIXTURE_EPOCHS, covariance_reg=COVARIANCE_REG)
    some = torch.randperm(len(energy))[:MIXTURE_DAYS]
    model.train_gmm(Days(energy[some], {name: of[some] for name, of in labels.items()}, MIXTURE_DAYS))
    return model


def main(given: str, written: str) -> None:
    """Train on the days, draw about as many as asked for, and write them with their labels."""
    with np.load(given) as file:
        kwh, month, weekday, rows = file["kwh"], file["month"], file["weekday"], int(file["rows"])
    warnings.simplefilter("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    lightning.seed_everything(SEED)
    begin = time.process_time()
    mean, std = float(kwh.mean()), float(kwh.std())
    labels = {"month": torch.from_numpy(month), "dayofweek": torch.from_numpy(weekday)}
    model = trained(torch.from_numpy((kwh - mean) / std).float(), labels)
    with torch.no_grad():
        drawn = model.sample_gmm(rows)
    seconds = time.process_time() - begin
    # A day's energy may come out negative.
    energy = np.maximum(drawn["kwh"].numpy() * std + mean, 0)
    month, weekday = (drawn["features"][label].numpy()[:, 0] for label in labels)
    words = f"opensynth-energy {version('opensynth-energy')}, {STEPS:,} steps, {COMPONENTS} components"
    found = {"kwh": energy.astype(np.float32), "month": month, "weekday": weekday}
    np.savez(written, seconds=seconds, settings=words, **found)


if __name__ == "__main__":
    main(*sys.argv[1:3])
