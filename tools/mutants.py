"""Check that the tests of privacy still bite: break the code in one place at a time and run what should notice.

``python tools/mutants.py [word ...]`` copies the checkout into a temporary folder for every mutant (whose name holds
all words), replaces one exact snippet there, runs the tests that should fail, and says which one did. First those
tests must pass on the unbroken copy. Exits with 1 if a mutant escaped, and stops if a snippet or a test is not found.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", ".test", "pyproject.toml", "docs", "config", "resources", "workflow")
FAILED, PASSED = 1, 0  # exit codes of pytest; all others mean that the tests did not run

PROVEN = "src/meterdp/mechanisms/proven"
GROUP = "src/meterdp/groupforecast"
PROVEN_PRIVACY = "tests/statistical/mechanisms/proven/test_privacy.py"
GROUP_PRIVACY = "tests/statistical/groupforecast/test_privacy.py"
UNIT_PROVEN = "tests/unit/mechanisms/proven"
UNIT_GROUP = "tests/unit/groupforecast"
FEEDERS = "src/meterdp/feeders"
FEEDER_PRIVACY = "tests/statistical/feeders/test_privacy.py"
UNIT_FEEDERS = "tests/unit/feeders/test_mechanism.py"
EXPORTS = "src/meterdp/ingest"
PRIVACY = "src/meterdp/privacy"
RELEASE = "src/meterdp/release"
DRAWN = "tests/unit/privacy/test_drawn.py"
RELEASE_TESTS = "tests/unit/release"
FORECASTS = f"{RELEASE_TESTS}/test_household_forecasts.py"
LEDGER = f"{RELEASE_TESTS}/test_budget.py"
STEPS_LEAK = "tests/unit/audit/test_steps_leak_nothing.py"
RECORDS = "tests/unit/ingest/test_records_stand_alone.py"
PLAIN = "tests/unit/ingest/test_plain_lines.py"
COMPOSITIONS = "tests/unit/accounting/test_compositions.py"
REPLACING_PROVEN = f"{PROVEN_PRIVACY}::test_replacing_a_household_stays_below_the_claimed_curve"
PRIOR_MIXTURE_CURVE = f"{PROVEN_PRIVACY}::test_adapting_a_prior_mixture_stays_below_the_claimed_curve"
REPLACING_FEEDER = f"{FEEDER_PRIVACY}::test_replacing_a_meter_stays_below_the_claimed_curve"
REPLACING_GROUP = f"{GROUP_PRIVACY}::test_replacing_a_household_stays_below_the_claimed_curve"


@dataclass(frozen=True)
class Mutant:
    """One broken place.

    Parameters
    ----------
    name : str
        What is wrong.
    file : str
        Source file, from the root of the checkout.
    snippet, broken : str
        Exact text, which occurs once, and what takes its place.
    tests : str
        Files, folders or node ids, separated by spaces; at least one test of them must fail.
    """

    name: str
    file: str
    snippet: str
    broken: str
    tests: str


MUTANTS = (
    Mutant(
        "half noise in one round: sound",
        f"{PRIVACY}/mechanism.py",
        "return lambda query, exact: noise.add_gaussian(exact, query.noise_std)",
        "return lambda query, exact: "
        'noise.add_gaussian(exact, (0.5 if query.name == "round 2" else 1) * query.noise_std)',
        f"{PROVEN_PRIVACY}::test_noise_has_the_calibrated_scale",
    ),
    Mutant(
        "half noise in one round: sound, in the plan",
        f"{PROVEN}/plan.py",
        "steps = [NoisyQuery(name, reach, reach / (mu * math.sqrt(share))) for name, reach, share in plan]",
        'steps = [NoisyQuery(n, r, r / (mu * math.sqrt(share)) / (1 + (n == "round 1"))) for n, r, share in plan]',
        REPLACING_PROVEN,
    ),
    Mutant(
        "half noise: sound, marginals",
        f"{PROVEN}/plan.py",
        "reach / (whole * math.sqrt(settings.marginal_share)))]",
        "reach / (whole * math.sqrt(settings.marginal_share)) / 2)]",
        f"{PROVEN_PRIVACY}::test_marginals_and_mixture_together_stay_below_the_claimed_curve",
    ),
    Mutant(
        "sensitivity without its ends: sound, marginals",
        f"{PROVEN}/marginals.py",
        "return 8 * sum(1 / j for j in range(1, count + 1, 2))",
        "return 4 * sum(1 / j for j in range(1, count + 1, 2))",
        f"{UNIT_PROVEN}/test_marginals.py",
    ),
    Mutant(
        "a mixture fitted to profiles that follow no marginals",
        f"{PROVEN}/marginals.py",
        "class_shares(class_log_densities(x, before)) * pool_weights(self.reference, self.exponents)",
        "class_shares(class_log_densities(x, before)) * np.ones(len(x))",
        f"{UNIT_PROVEN}/test_marginals.py",
    ),
    Mutant(
        "a mixture fitted below the floor of its eigenvalues",
        f"{PROVEN}/marginals.py",
        "covariances, _ = raise_eigenvalues(covariances, eigenvalue_floor)",
        "covariances, _ = raise_eigenvalues(covariances, 1e-12)",
        f"{UNIT_PROVEN}/test_marginals.py",
    ),
    Mutant(
        "half noise in one step: sound from a prior mixture, in the plan",
        f"{PROVEN}/plan.py",
        "steps = [NoisyQuery(name, reach, reach / (mu * math.sqrt(share))) for name, reach, share in plan]",
        'steps = [NoisyQuery(n, r, r / (mu * math.sqrt(share)) / (1 + (n == "adapt 2"))) for n, r, share in plan]',
        PRIOR_MIXTURE_CURVE,
    ),
    Mutant(
        "sensitivity without its sqrt 2: sound from a prior mixture, replaced record that changes its class",
        f"{PROVEN}/adapt.py",
        'shares = 1 if adjacency == "add_remove" else 2',
        "shares = 1",
        f"{PROVEN_PRIVACY}::test_noise_of_a_prior_mixture_has_the_calibrated_scale {UNIT_PROVEN}/test_adapt.py",
    ),
    Mutant(
        "one unclipped coordinate: sound from a prior mixture",
        f"{PROVEN}/adapt.py",
        "z = clip_to_unit_ball(z / radius)",
        "z = z / radius",
        PRIOR_MIXTURE_CURVE,
    ),
    Mutant(
        "a prior mixture that nobody vouches for is taken",
        f"{PROVEN}/prior_mixture.py",
        "if not _is_public(manifest, sha256):",
        "if False:",
        f"{UNIT_PROVEN}/test_prior_mixture.py::test_what_is_no_public_prior_mixture_is_refused_in_one_sentence",
    ),
    Mutant(
        "half noise in one round: sound for labels, in the plan",
        f"{PROVEN}/label_flip.py",
        "reach / (mu * math.sqrt(share)))",
        "reach / (mu * math.sqrt(share)) / (1 + (t == 1)))",
        f"{PROVEN_PRIVACY}::test_flipping_a_label_stays_below_the_claimed_curve "
        f"{PROVEN_PRIVACY}::test_noise_of_the_other_adjacencies_is_what_sensitivity_and_share_demand",
    ),
    Mutant(
        "half noise in one round: group forecast",
        f"{PRIVACY}/mechanism.py",
        "return lambda query, exact: noise.add_gaussian(exact, query.noise_std)",
        "return lambda query, exact: "
        'noise.add_gaussian(exact, (0.5 if query.name == "profile" else 1) * query.noise_std)',
        f"{GROUP_PRIVACY}::test_noise_has_the_calibrated_scale",
    ),
    Mutant(
        "half noise in one round: group forecast, in the plan",
        f"{GROUP}/plan.py",
        "made = NoisyQuery(name, reach, reach / (mu * math.sqrt(share)))",
        'made = NoisyQuery(name, reach, reach / (mu * math.sqrt(share)) / (1 + (name == "profile")))',
        REPLACING_GROUP,
    ),
    Mutant(
        "sensitivity without its sqrt 2: sound, replaced record that changes its class",
        f"{PROVEN}/stack.py",
        "max(2 * whole, same_class)",
        "max(whole, same_class)",
        f"{PROVEN_PRIVACY}::test_noise_has_the_calibrated_scale {UNIT_PROVEN}/test_stack.py",
    ),
    Mutant(
        "sensitivity without its sqrt 2: sound, radius",
        f"{PROVEN}/plan.py",
        "reach = 1.0 if counted else math.sqrt(2)",
        "reach = 1.0",
        REPLACING_PROVEN,
    ),
    Mutant(
        "sensitivity without its sqrt 2: sound for labels",
        f"{PROVEN}/stack.py",
        "return math.sqrt(2 * whole)",
        "return math.sqrt(whole)",
        f"{PROVEN_PRIVACY}::test_flipping_a_label_stays_below_the_claimed_curve {UNIT_PROVEN}/test_stack.py",
    ),
    Mutant(
        "sensitivity divided by sqrt 2: group forecast",
        f"{GROUP}/plan.py",
        "reach = rounded(diameter, entries, public.grid)",
        "reach = rounded(diameter / math.sqrt(2), entries, public.grid)",
        REPLACING_GROUP,
    ),
    Mutant(
        "one unclipped coordinate: sound",
        f"{PRIVACY}/mechanism.py",
        'np.einsum("...d,...d->...", z, z)), 1.0)',
        'np.einsum("...d,...d->...", z[..., 1:], z[..., 1:])), 1.0)',
        REPLACING_PROVEN,
    ),
    Mutant(
        "one unclipped coordinate: group forecast",
        f"{PRIVACY}/mechanism.py",
        "return radius * clip_to_unit_ball(z / radius)",
        "return np.hstack([z[:, :1], radius * clip_to_unit_ball(z / radius)[:, 1:]])",
        REPLACING_GROUP,
    ),
    Mutant(
        "radius from the data: sound, first clipping",
        f"{PROVEN}/mechanism.py",
        "radius = radius_from(noisy, records, d)",
        "radius = radius_from(np.broadcast_to(histogram, noisy.shape), records, d) + 1e-6 * np.abs(z).max()",
        REPLACING_PROVEN,
    ),
    Mutant(
        "radius from the data: sound, rounds",
        f"{PROVEN}/rounds.py",
        "radius = ROUND_RADIUS * np.sqrt(d)",
        "radius = ROUND_RADIUS * np.sqrt(d) * x.std()",
        REPLACING_PROVEN,
    ),
    Mutant(
        "radius from the data: group forecast",
        f"{GROUP}/mechanism.py",
        "level = np.clip(x[:, :1] / median_kwh, 0.0, bound)",
        "level = np.clip(x[:, :1] / median_kwh, 0.0, max(bound, 1e-3 * np.nanmax(x[:, 0])))",
        REPLACING_GROUP,
    ),
    Mutant(
        "an extra statistic released without noise: sound",
        f"{PROVEN}/mechanism.py",
        "        order = np.argsort(-released",
        "        released.mixtures.means[:] += 1e-9 * x.mean()\n        order = np.argsort(-released",
        REPLACING_PROVEN,
    ),
    Mutant(
        "an extra statistic released without noise: sound, number of households under add_remove",
        f"{PROVEN}/mechanism.py",
        "records = np.maximum(measure(counted, np.full((draws, 1), float(len(x))))[:, 0], public.classes)",
        "records = 0 * measure(counted, np.full((draws, 1), float(len(x))))[:, 0] + max(len(x), public.classes)",
        f"{PROVEN_PRIVACY}::test_adding_or_removing_a_household_stays_below_the_claimed_curve",
    ),
    Mutant(
        "an extra statistic released without noise: group forecast",
        f"{GROUP}/mechanism.py",
        "return self._released(levels, bound, measure",
        "return self._released(levels, bound + 1e-9 * np.nanmean(x), measure",
        REPLACING_GROUP,
    ),
    Mutant(
        "one seed for two rounds: sound",
        f"{PRIVACY}/mechanism.py",
        "    return lambda query, exact: noise.add_gaussian(exact, query.noise_std)\n",
        "    drawn = {}\n\n"
        "    def measure(query, exact):\n"
        "        if exact.shape not in drawn:\n"
        "            drawn[exact.shape] = noise.add_gaussian(np.zeros(exact.shape), 1.0)\n"
        "        return exact + query.noise_std * drawn[exact.shape]\n\n"
        "    return measure\n",
        f"{PROVEN_PRIVACY}::test_every_number_of_a_release_has_noise_of_its_own",
    ),
    Mutant(
        "one seed for two rounds: group forecast",
        f"{PRIVACY}/mechanism.py",
        "    return lambda query, exact: noise.add_gaussian(exact, query.noise_std)\n",
        "    drawn = noise.add_gaussian(np.zeros((64, 4096)), 1.0)\n"
        "    return lambda query, exact: exact + query.noise_std * drawn[: len(exact), : exact.shape[1]]\n",
        f"{GROUP_PRIVACY}::test_every_number_has_randomness_of_its_own",
    ),
    Mutant(
        "off-by-one composition: sound, one round more than is paid for",
        f"{PROVEN}/plan.py",
        "for t, share in enumerate(round_shares)]",
        "for t, share in enumerate([*round_shares, round_shares[-1]])]",
        f"{REPLACING_PROVEN} {UNIT_PROVEN}/test_plan.py::test_steps_compose_to_exactly_the_budget",
    ),
    Mutant(
        "off-by-one composition: sound for labels, one round is left out of the shares",
        f"{PROVEN}/label_flip.py",
        "enumerate(shares / shares.sum())",
        "enumerate(shares / shares[:-1].sum())",
        f"{PROVEN_PRIVACY}::test_flipping_a_label_stays_below_the_claimed_curve {UNIT_PROVEN}/test_label_flip.py",
    ),
    Mutant(
        "off-by-one composition: group forecast, the distribution of levels is not paid for",
        f"{GROUP}/plan.py",
        "public.entries, 1 - LEVELS_SHARE)",
        "public.entries, 1.0)",
        f"{REPLACING_GROUP} {UNIT_GROUP}/test_plan.py::test_every_plan_costs_what_it_may_and_no_more",
    ),
    Mutant(
        "off-by-one composition: linear, one step is not paid for",
        "src/meterdp/accounting/sequence.py",
        "return sequence.steps * step_epsilon <= epsilon and",
        "return (sequence.steps - 1) * step_epsilon <= epsilon and",
        COMPOSITIONS,
    ),
    Mutant(
        "a delta that is not paid for: advanced composition",
        "src/meterdp/accounting/sequence.py",
        "math.log(left) - ROOM",
        "math.log(delta) - ROOM",
        COMPOSITIONS,
    ),
    Mutant(
        "a delta that is not paid for: Gaussian steps above an epsilon of one",
        "src/meterdp/accounting/sequence.py",
        "max(self.step_delta, gaussian.delta(mu, step_epsilon) * (1 + gaussian.RELATIVE_ERROR))",
        "self.step_delta",
        COMPOSITIONS,
    ),
    Mutant(
        "half the price: rho of Gaussian steps",
        "src/meterdp/accounting/sequence.py",
        "(4 * math.log(1.25 / self.step_delta))",
        "(8 * math.log(1.25 / self.step_delta))",
        COMPOSITIONS,
    ),
    Mutant(
        "half the price: rho of Laplace steps",
        "src/meterdp/accounting/sequence.py",
        "sequence.laplace * step_epsilon * step_epsilon / 2",
        "sequence.laplace * step_epsilon * step_epsilon / 4",
        COMPOSITIONS,
    ),
    Mutant(
        "a moment below the true one: Laplace steps",
        "src/meterdp/accounting/moments.py",
        "of.log1p(order / (2 * order + 1) *",
        "of.log1p((order + 1) / (2 * order + 1) *",
        "tests/unit/accounting/test_moments.py",
    ),
    Mutant(
        "clip after the mean: sound",
        f"{PROVEN}/rounds.py",
        "residual_stack(z, square, weights, share, radius)",
        "np.clip(residual_stack(z, 0 * square, weights, share, radius), -n, n)",
        REPLACING_PROVEN,
    ),
    Mutant(
        "no clipping: records in a ball",
        f"{PROVEN}/stack.py",
        "z *= (root / np.maximum(np.sqrt(square), radius))[..., None]",
        "z *= (root / radius)[..., None]",
        f"{PROVEN_PRIVACY}::test_a_release_of_records_in_a_ball_stays_below_the_claimed_curve",
    ),
    Mutant(
        "noise of loads for records in a ball",
        f"{PROVEN}/plan.py",
        "weights = (settings.ball or Loads).round_weights",
        "weights = Loads.round_weights",
        f"{PROVEN_PRIVACY}::test_noise_of_records_in_a_ball_has_the_calibrated_scale",
    ),
    Mutant(
        "clip after the mean: group forecast",
        f"{GROUP}/mechanism.py",
        "        shape = clipped((x[:, 1 : 1 + CELLS] - public.cell_shape) * np.sqrt(CELL_SHARE), SHAPE_RADIUS)\n",
        "        shape = (x[:, 1 : 1 + CELLS] - public.cell_shape) * np.sqrt(CELL_SHARE)\n"
        "        mean = np.nanmean(shape, axis=0)[None]\n"
        "        shape = shape - mean + clipped(mean, SHAPE_RADIUS)\n",
        REPLACING_GROUP,
    ),
    Mutant(
        "shares of hours are taken as they come: group forecast",
        f"{GROUP}/mechanism.py",
        "shares = shares / np.maximum(shares.sum(axis=2, keepdims=True), 1.0) - spread_prior()[0]",
        "shares = x[:, 1 + CELLS :].reshape(-1, HOURS, BINS) - spread_prior()[0]",
        f"{UNIT_GROUP}/test_mechanism.py::test_replacing_a_household_moves_an_answer_by_no_more_than_declared",
    ),
    Mutant(
        "a wrong label in a neighbour pair: graph",
        "src/meterdp/class_noise/neighbourhoods.py",
        "    np.fill_diagonal(same, False)\n    return np.argwhere(same)",
        "    np.fill_diagonal(same, False)\n    return np.argwhere(np.roll(same, 1, axis=1))",
        "tests/unit/class_noise/test_neighbourhoods.py",
    ),
    Mutant(
        "a group smaller than it must be: a household can be removed from any",
        "src/meterdp/class_noise/neighbourhoods.py",
        "if self.count[own] > self.size:",
        "if self.count[own] > 1:",
        "tests/unit/class_noise/test_neighbourhoods.py",
    ),
    Mutant(
        "a wrong label in a neighbour pair: curves",
        "src/meterdp/class_noise/curves.py",
        "return pair_losses(distributions.mean_log_kwh, distributions.covariance, distributions.pairs)",
        "return pair_losses(distributions.mean_log_kwh, distributions.covariance, (distributions.pairs + [0, 1])"
        " % len(distributions.mean_log_kwh))",
        "tests/unit/class_noise/test_curves.py",
    ),
    Mutant(
        "a wrong label in a neighbour pair: losses of the reverse",
        "src/meterdp/accounting/gaussian_loss.py",
        "turned = wanted[label[wanted] > other[wanted]]",
        "turned = wanted[label[wanted] < other[wanted]]",
        "tests/unit/accounting/test_gaussian_loss.py",
    ),
    Mutant(
        "a wrong tail side in the exact curve: sides swapped",
        "src/meterdp/accounting/exact_curve.py",
        "return ExactTails(upper, lower, stick, upper_error,",
        "return ExactTails(lower, upper, stick, upper_error,",
        "tests/unit/accounting/test_exact_curve.py tests/unit/accounting/test_gaussian_loss.py",
    ),
    Mutant(
        "a wrong tail side in the exact curve: the lower tail is the upper one, compiled",
        "src/meterdp/accounting/tail_integral.py",
        "tail(gamma[pair], nu[pair], -1.0, epsilon",
        "tail(gamma[pair], nu[pair], 1.0, epsilon",
        "tests/unit/accounting/test_exact_curve.py",
    ),
    Mutant(
        "a wrong log scale: the inverse of a signed one without its constant",
        "src/meterdp/core/log_scale.py",
        "return 2 * self.scale_kwh * np.sinh(log_kwh - np.log(self.scale_kwh))",
        "return 2 * self.scale_kwh * np.sinh(log_kwh)",
        "tests/unit/core/test_log_scale.py",
    ),
    Mutant(
        "a wrong log scale: the inverse above an offset is a plain exponential",
        "src/meterdp/core/log_scale.py",
        "return np.exp(log_kwh) - self.offset_kwh if self.offset_kwh else np.exp(log_kwh)",
        "return np.exp(log_kwh)",
        "tests/unit/core/test_log_scale.py",
    ),
    Mutant(
        "a wrong log scale: its constants stay those of an hour",
        "src/meterdp/core/log_scale.py",
        "return LogScale(*(value * minutes / 60 for value in values))",
        "return LogScale(*(value * minutes / 60 for value in values[:2]), *values[2:])",
        "tests/unit/core/test_log_scale.py",
    ),
    Mutant(
        "a wrong log scale: moments leave out the second exponential",
        "src/meterdp/core/log_scale.py",
        "terms = {1: 1.0, 0: -self.offset_kwh, -1: -(self.scale_kwh**2)}",
        "terms = {1: 1.0, 0: -self.offset_kwh}",
        "tests/unit/forecasting/test_energy.py",
    ),
    Mutant(
        "a wrong log scale: the target of an absolute error is put on a plain log",
        "src/meterdp/forecasting/energy.py",
        "low, high = (scale.log(values) for values in (np.full_like(target, scale.low_kwh), target))",
        "low, high = scale.log(np.full_like(target, scale.low_kwh)), np.log(np.maximum(target, 1e-9))",
        "tests/unit/forecasting/test_energy.py",
    ),
    Mutant(
        "a wrong log scale: synthetic energies of a release are exponentials",
        "src/meterdp/release/mixture.py",
        "energy_kwh = scale.clipped_kwh(profiles)",
        "energy_kwh = np.clip(np.exp(profiles), *rules.clip_kwh_per_hour)",
        "tests/unit/release/test_released_marginals.py",
    ),
    Mutant(
        "a record moved by another: what a home draws with everything off is that of all homes",
        "src/meterdp/profiles/quality.py",
        "others = usable[i][plausible[i] & ~runs[i]]",
        "others = usable[plausible & ~runs]",
        "tests/unit/profiles/test_quality.py",
    ),
    Mutant(
        "release: forecasts are numbered in the order of the list",
        "src/meterdp/publish/forecast_files.py",
        "by_id = np.argsort(first)",
        "by_id = np.arange(len(first))",
        "tests/unit/publish/test_forecast_files.py",
    ),
    Mutant(
        "release: a forecast has the name of another circuit",
        "src/meterdp/release/forecasts.py",
        "names = [*_sizes(circuit, self.service)]",
        "names = [*_sizes(circuit, self.service)][::-1]",
        "tests/unit/release/test_household_forecasts.py",
    ),
    Mutant(
        "a wrong log scale: energies of a forecast file are exponentials",
        "src/meterdp/publish/forecast_files.py",
        '"released_kwh": scale.clipped_kwh(log_kwh)}',
        '"released_kwh": np.clip(np.exp(log_kwh), *scale.bounds_kwh)}',
        "tests/unit/release/test_household_forecasts.py",
    ),
    Mutant(
        "a wrong log scale: records are ranked by exponentials",
        "src/meterdp/mechanisms/proven/marginals.py",
        "return self.log_scale.kwh(x).sum(axis=1)",
        "return np.exp(x).sum(axis=1)",
        "tests/unit/mechanisms/proven/test_marginals.py",
    ),
    Mutant(
        "a wrong log scale: the mechanism forgets it",
        "src/meterdp/mechanisms/proven/mechanism.py",
        "Reference(mixture, public.low_log_kwh, public.high_log_kwh, public.log_scale, tail)",
        "Reference(mixture, public.low_log_kwh, public.high_log_kwh, tail_homes=tail)",
        "tests/unit/release/test_released_marginals.py",
    ),
    Mutant(
        "a wrong log scale: a season of energy averages exponentials",
        "src/meterdp/profiles/seasonal.py",
        "seasonal_part(season.log_scale.kwh(log_kwh), calendar",
        "seasonal_part(np.exp(log_kwh), calendar",
        "tests/unit/profiles/test_seasonal.py",
    ),
    Mutant(
        "a wrong log scale: errors in kWh are those of exponentials",
        "src/meterdp/evaluation/forecast_errors.py",
        "scale.kwh(log_forecast) - scale.kwh(actual_log_kwh)",
        "np.exp(log_forecast) - np.exp(actual_log_kwh)",
        "tests/unit/papers/ramakrishna/test_forecast_errors.py",
    ),
    Mutant(
        "a wrong log scale: a prior mixture on another one is taken",
        "src/meterdp/mechanisms/proven/prior_mixture.py",
        "if _scale_of(manifest) != dict(scale or {}):",
        "if False:",
        "tests/unit/mechanisms/proven/test_prior_mixture.py::test_a_prior_mixture_on_another_scale_is_refused_and_one_on_the_same_is_read",
    ),
    Mutant(
        "a wrong log scale: feed-in that it holds counts as negative",
        "src/meterdp/profiles/quality.py",
        "plausible & (usable < least_kwh) & ~found",
        "plausible & (usable < 0) & ~found",
        "tests/unit/profiles/test_quality.py",
    ),
    Mutant(
        "a wrong log scale: another scale is the same request",
        "src/meterdp/release/service.py",
        'scale = {"log_scale": words} if (words := LogScale.from_config(profiles).words) else {}',
        "scale = {}",
        "tests/unit/release/test_household_forecasts.py",
    ),
    Mutant(
        "a record moved by another: a lone carriage return ends a line",
        f"{EXPORTS}/lines.py",
        r'lines = lines.replace(b"\r\n", b"\n").replace(b"\r", b" ")',
        r'lines = lines.replace(b"\r\n", b"\n")',
        RECORDS,
    ),
    Mutant(
        "a record moved by another: a vote on the order of rows",
        f"{EXPORTS}/clock.py",
        "return self._back_steps > 0",
        "return np.full(len(self._back_steps), self._back_steps.sum() > 0)",
        RECORDS,
    ),
    Mutant(
        "a record moved by another: the first stamp says whether all carry offsets",
        f"{EXPORTS}/fields.py",
        "if self._format == ISO8601 and not rejects.tolerant:",
        "if self._format == ISO8601:",
        RECORDS,
    ),
    Mutant(
        "a record moved by another: a bad row ends the run",
        f"{EXPORTS}/settings.py",
        'values["bad_rows"] = "missing"',
        'values["bad_rows"] = "refuse"',
        RECORDS,
    ),
    Mutant(
        "an export misread: the last bytes of a word are not compared",
        f"{EXPORTS}/plain_lines.py",
        "<< (64 - 8 * size) == 0",
        "<< (64 - 8 * size) == 0 or size < 3",
        PLAIN,
    ),
    Mutant(
        "an export misread: text of a block that is not plain is kept",
        f"{EXPORTS}/readers/plain_rows.py",
        "            self._forget()\n            return None\n",
        "            return None\n",
        PLAIN,
    ),
    Mutant(
        "an export misread: a number that is a missing word counts",
        f"{EXPORTS}/readers/plain_rows.py",
        "return values[np.isfinite(values)].tolist()",
        "return []",
        PLAIN,
    ),
    Mutant(
        "an export misread: readings of a chunk of households are out of order",
        f"{EXPORTS}/growing.py",
        'rows = rows[np.argsort(chunk, kind="stable")]',
        'rows = rows[np.argsort(chunk, kind="stable")[::-1]]',
        "tests/unit/ingest/test_formats.py",
    ),
    Mutant(
        "an export misread: a changed file is taken for the kept one",
        f"{EXPORTS}/kept.py",
        "member.size_bytes, about.st_size, about.st_mtime_ns)",
        ")",
        "tests/unit/ingest/test_kept.py",
    ),
    Mutant(
        "an export misread: the repeated hour is there on every day",
        f"{EXPORTS}/clock.py",
        "np.where(again, repeated, inside <= repeated)",
        "np.where(again, known, inside <= repeated)",
        "tests/unit/ingest/test_layouts.py",
    ),
    Mutant(
        "an export misread: the mark of an hour by the clock that is repeated counts for nothing",
        f"{EXPORTS}/readers/long_csv.py",
        "return np.where(again, clock_time_us(day_us, number, again, settings), local_us)",
        "return np.where(again, clock_time_us(day_us, number, ~again, settings), local_us)",
        "tests/unit/ingest/test_layouts.py tests/unit/ingest/test_check.py",
    ),
    Mutant(
        "an export misread: an hour by the clock is taken for the second one in rows that run backwards",
        f"{EXPORTS}/clock.py",
        "if descending is None or settings.hours_rows else",
        "if descending is None else",
        "tests/unit/ingest/test_layouts.py",
    ),
    Mutant(
        "an export misread: a missing hour 3 by the clock does not tell how hours are numbered",
        f"{EXPORTS}/inference/zone.py",
        "by_clock = skipped and there[24] > 0",
        "by_clock = False",
        "tests/unit/ingest/test_check.py",
    ),
    Mutant(
        "an export misread: a row of a short day that leaves nothing empty is by the clock",
        f"{EXPORTS}/readers/wide_csv.py",
        " & ~(given & skipped).any(1)",
        "",
        "tests/unit/ingest/test_layouts.py",
    ),
    Mutant(
        "an export misread: hours by the clock that are named by their ends are an hour late",
        f"{EXPORTS}/readers/wide_csv.py",
        "by_clock_us - later * settings.interval_us",
        "by_clock_us",
        "tests/unit/ingest/test_layouts.py",
    ),
    Mutant(
        "an export misread: what does not fit into a piece of text is lost",
        f"{EXPORTS}/streams.py",
        "self._rest[:size], self._rest[size:]",
        'self._rest[:size], b""',
        "tests/unit/ingest/test_lines.py",
    ),
    Mutant(
        "an export misread: an id behind an apostrophe is another meter",
        f"{EXPORTS}/batch.py",
        """name.startswith("'") and name[1:].isdecimal()""",
        """False""",
        "tests/unit/ingest/test_check.py",
    ),
    Mutant(
        "an export misread: a copy of a file comes before it",
        f"{EXPORTS}/members.py",
        "return str(whole.with_name(stem)), name",
        "return name, name",
        "tests/unit/ingest/test_check.py",
    ),
    Mutant(
        "an export misread: power beside energy is that of an hour",
        f"{EXPORTS}/settings.py",
        "factor = Fraction(*UNITS[named](minutes)) / Fraction(*UNITS[unit](minutes))",
        "factor = Fraction(*UNITS[named](60)) / Fraction(*UNITS[unit](60))",
        "tests/unit/ingest/test_units.py",
    ),
    Mutant(
        "an export misread: a unit that is not that of the settings is taken for it",
        f"{EXPORTS}/readers/plain_rows.py",
        "            energy = converted(energy, per_unit)\n",
        "",
        f"{PLAIN} tests/unit/ingest/test_units.py",
    ),
    Mutant(
        "an export misread: of several columns that leave rows out the last one decides",
        f"{EXPORTS}/readers/plain_rows.py",
        "others |= of_column[scan.codes[name]]",
        "others = of_column[scan.codes[name]]",
        "tests/unit/ingest/test_registers.py",
    ),
    Mutant(
        "an export misread: readings of a part of an interval count for it",
        f"{EXPORTS}/dense.py",
        "                energy_kwh[h, column] = _IN_PARTS\n",
        "",
        "tests/unit/ingest/test_hostile.py",
    ),
    Mutant(
        "an export misread: a part of an interval alone counts for it, as before a gap",
        f"{EXPORTS}/dense.py",
        "if found[slot] == _WHOLE and before != _WHOLE:",
        "if False:",
        "tests/unit/ingest/test_hostile.py",
    ),
    Mutant(
        "an export misread: some parts make an interval",
        f"{EXPORTS}/dense.py",
        "if given == parts and parts > 1:",
        "if given > 1 and parts > 1:",
        "tests/unit/ingest/test_ingest_oracle.py",
    ),
    Mutant(
        "a record moved by another: a meter that is read more often takes readings of the next with it",
        f"{EXPORTS}/dense.py",
        "_take_together(cells_kwh[household], parts, whole_at",
        "_take_together(cells_kwh[household - 1], parts, whole_at",
        "tests/unit/ingest/test_ingest_oracle.py",
    ),
    Mutant(
        "a record moved by another: whoever has rows is a household",
        f"{EXPORTS}/ingest.py",
        "number = NameIndex(index, grow=meter_list is None)",
        "number = NameIndex(index, grow=True)",
        RECORDS,
    ),
    Mutant(
        "a record moved by another: a second circuit ends the run",
        f"{EXPORTS}/ingest.py",
        "if batch.circuit is not None and meter_list is None:",
        "if batch.circuit is not None:",
        RECORDS,
    ),
    Mutant(
        "release: noise is drawn before it is charged",
        f"{PRIVACY}/release.py",
        "        attempts = ledger.charge(requests, limit)\n",
        "        _ = [p.mechanism.answer(records, Metered(SafeNoise(), p.request.charge), []) for p in parts]\n"
        "        attempts = ledger.charge(requests, limit)\n",
        f"{RELEASE_TESTS}/test_ledger.py",
    ),
    Mutant(
        "release: a run that died draws its answers again",
        f"{PRIVACY}/drawn.py",
        "if path.exists() and (answer := _answer_to(asked, path)) is not None:",
        "if False and (answer := None) is not None:",
        DRAWN,
    ),
    Mutant(
        "release: a draw of which nobody knows the answer costs nothing",
        f"{PRIVACY}/drawn.py",
        "return self._folder.is_dir() and not (self._folder / _DRAWING).exists()",
        "return self._folder.is_dir()",
        DRAWN,
    ),
    Mutant(
        "release: a signal loses the answer that is being drawn",
        f"{PRIVACY}/drawn.py",
        "    @unstopped()\n    def _once",
        "    def _once",
        DRAWN,
    ),
    Mutant(
        "release: an attempt without what it drew goes on",
        f"{PRIVACY}/drawn.py",
        "return self._folder.is_dir() and not (self._folder / _DRAWING).exists()",
        "return not (self._folder / _DRAWING).exists()",
        DRAWN,
    ),
    Mutant(
        "release: an attempt that was taken back goes on",
        f"{PRIVACY}/ledger.py",
        'return 0 < attempt == file.entries.known(key)["attempts"] and self.drawn(key, attempt).goes_on',
        'return self.drawn(key, file.entries.known(key)["attempts"]).goes_on',
        DRAWN,
    ),
    Mutant(
        "release: a charge is taken back after an answer was drawn",
        f"{PRIVACY}/drawn.py",
        "            self._folder.rmdir()\n",
        "            shutil.rmtree(self._folder)\n",
        DRAWN,
    ),
    Mutant(
        "release: a repeat is charged without being asked for",
        "src/meterdp/cli/release.py",
        'for request in [] if "repeat" in service.config["release"]["allow"] else due:',
        "for request in []:",
        "tests/unit/cli/test_release_check.py::test_a_repeat_is_refused_unless_allowed",
    ),
    Mutant(
        "release: queries cost more than was charged",
        f"{PRIVACY}/mechanism.py",
        "self._mu_squared_left -= query.mu**2",
        "self._mu_squared_left -= 0.0",
        "tests/unit/privacy/test_release.py",
    ),
    Mutant(
        "no clipping: what homes do together",
        "src/meterdp/households/mechanism.py",
        "rows = clipped(rows, common_radius(rows.shape[1]))",
        "rows = rows + 0.0",
        "tests/unit/households/test_mechanism.py",
    ),
    Mutant(
        "sensitivity of adding for replacing: what homes do together",
        "src/meterdp/households/mechanism.py",
        "gaussian.rounded(2 * common_radius(public.deviations)",
        "gaussian.rounded(common_radius(public.deviations)",
        "tests/unit/households/test_mechanism.py",
    ),
    Mutant(
        "sensitivity of one linear function for all: households",
        "src/meterdp/mechanisms/proven/marginals.py",
        "math.sqrt(len(directions) * cosines(LINEAR_COSINES))",
        "math.sqrt(cosines(LINEAR_COSINES))",
        "tests/unit/mechanisms/proven/test_marginals.py tests/statistical/households",
    ),
    Mutant(
        "a household is read with another stratum",
        "src/meterdp/households/mechanism.py",
        "vectors[stratum == s]",
        "vectors[np.roll(stratum == s, 1)]",
        "tests/statistical/households tests/unit/households/test_mechanism.py",
    ),
    Mutant(
        "release: what parts of the records spent can be spent again",
        f"{PRIVACY}/mechanism.py",
        "        self._mu_squared_left = 0.0\n",
        "",
        "tests/unit/privacy/test_release.py",
    ),
    Mutant(
        "release: a mechanism draws less noise than it says",
        "src/meterdp/feeders/mechanism.py",
        "        return self.run(sums, measure_with(noise, self.public.grid))",
        "        measure = measure_with(noise, self.public.grid)\n"
        "        less = lambda q, exact: measure(type(q)(q.name, q.sensitivity, q.noise_std / 2), exact)\n"
        "        return self.run(sums, less)",
        "tests/golden/test_release.py",
    ),
    Mutant(
        "release: a rerun draws again",
        f"{PRIVACY}/release.py",
        "            if request.key in attempts:",
        "            if True:",
        f"{RELEASE_TESTS}/test_ledger.py",
    ),
    Mutant(
        "release: lost attempts are not counted",
        f"{PRIVACY}/spent.py",
        'self.state["charges"].append(kept)',
        'mine = [one for one in self.state["charges"] if one.get("request") != kept.get("request")]\n'
        '        self.state["charges"] = [*mine, kept]',
        f"{RELEASE_TESTS}/test_ledger.py",
    ),
    Mutant(
        "ledger: a charge that was not taken back is forgotten",
        f"{PRIVACY}/spent.py",
        'if (one.get("request"), one.get("attempt")) == (request, attempt):',
        "if True:",
        f"{RELEASE_TESTS}/test_ledger.py",
    ),
    Mutant(
        "ledger: a meter on another list has a budget of its own",
        f"{PRIVACY}/spent.py",
        "            self._add(lists.on_both(name, new.meters), mine)",
        "            self._add(lists.on_both(name, new.meters) & (name in (None, new.meters)), mine)",
        LEDGER,
    ),
    Mutant(
        "ledger: a charge without a list counts for nobody",
        f"{PRIVACY}/meter_lists.py",
        "return np.ones(self.count(whose), dtype=bool)",
        "return np.zeros(self.count(whose), dtype=bool)",
        LEDGER,
    ),
    Mutant(
        "ledger: a name in another Unicode form is another meter",
        f"{PRIVACY}/meter_lists.py",
        'name = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", name).casefold())',
        "name = name.casefold()",
        f"{RELEASE_TESTS}/test_meter_lists.py",
    ),
    Mutant(
        "ledger: of several periods the last one is charged",
        f"{PRIVACY}/spent.py",
        "    for period in new.periods or (None,):\n"
        "        earlier = [entry for entry in entries if entry.counts_in(period)]\n"
        "        _check_kinds",
        "    for period in (new.periods or (None,))[-1:]:\n"
        "        earlier = [entry for entry in entries if entry.counts_in(period)]\n"
        "        _check_kinds",
        LEDGER,
    ),
    Mutant(
        "ledger: the highest limit that was stated holds",
        f"{PRIVACY}/spent.py",
        "return [self._new.limit, *(c for c, n in self._stated.items() if n[row] >= since and c != self._new.limit)]",
        "return [max([self._new.limit, *(c for c, n in self._stated.items() if n[row] >= since)], "
        "key=lambda c: c.epsilon)]",
        LEDGER,
    ),
    Mutant(
        "ledger: a limit gives way where discrete noise is cheap",
        f"{PRIVACY}/spent.py",
        "return min(limit.epsilon, math.log(price - 1)) if",
        "return math.log(price - 1) if",
        LEDGER,
    ),
    Mutant(
        "ledger: groups that an earlier version drew by lot count half",
        f"{PRIVACY}/charge.py",
        "(-2 * math.sqrt(times) * ndtri(expit(-a))",
        "(-math.sqrt(times) * ndtri(expit(-a))",
        "tests/unit/accounting/test_gdp.py",
    ),
    Mutant(
        "ledger: the meter that spent the most mu is looked at, not the one with the most variation",
        f"{PRIVACY}/spent.py",
        "return sums[sums[:, 1] > before]",
        "return sums[:1]",
        LEDGER,
    ),
    Mutant(
        "ledger: a removal and an addition cost as much as one of them",
        f"{PRIVACY}/spent.py",
        'return (2 if self.budget.adjacency == "add_remove" else 1) * self.charge.mu',
        "return self.charge.mu",
        LEDGER,
    ),
    Mutant(
        "ledger: a release by group is the same whoever is in which",
        "src/meterdp/ingest/meter_list.py",
        "if not groups:",
        "if True:",
        f"{RELEASE_TESTS}/test_gate.py",
    ),
    Mutant(
        "ledger: neighbourhoods may change",
        f"{PRIVACY}/spent.py",
        'return ("readings", None) if adjacency in READINGS else (adjacency, self.neighbourhoods)',
        'return ("readings", None) if adjacency in READINGS else (adjacency, None)',
        LEDGER,
    ),
    Mutant(
        "ledger: what others spent counts for one meter",
        f"{PRIVACY}/ledger.py",
        "entries = [e for e in file.entries.entries() if file.lists.share_meters(e.meters, own)]",
        "entries = file.entries.entries()",
        f"{RELEASE_TESTS}/test_show.py",
    ),
    Mutant(
        "ledger: what is left is that of a meter that spent nothing",
        f"{PRIVACY}/ledger.py",
        "for name, one in _one_more(entries, None).items()}",
        "for name, one in _one_more(entries, file.add_list(['nobody'])[0]).items()}",
        f"{RELEASE_TESTS}/test_show.py",
    ),
    Mutant(
        "release: of homes that were hardly read nothing is said",
        "src/meterdp/release/households.py",
        "if said := mostly_default(like.mean(), _default_home(settings)):",
        "if said := None:",
        f"{RELEASE_TESTS}/test_households.py",
    ),
    Mutant(
        "release: of homes below the least that counts nothing is said",
        "src/meterdp/release/households.py",
        ".mean()) <= MOST_DEFAULT:",
        ".mean()) <= 1:",
        f"{RELEASE_TESTS}/test_households.py",
    ),
    Mutant(
        "release: profiles that were hardly read look like homes",
        "src/meterdp/release/mixture.py",
        "_LIKE_THE_DEFAULT = 0.2",
        "_LIKE_THE_DEFAULT = 0.02",
        "tests/unit/publish/test_page.py",
    ),
    Mutant(
        "list: a row that differs is taken for the same",
        "src/meterdp/ingest/meter_list.py",
        "if row_of[meter] == row and not blurred:",
        "if not blurred:",
        "tests/unit/ingest/test_records_stand_alone.py",
    ),
    Mutant(
        "ledger: a new one begins where a lost one left its key",
        f"{PRIVACY}/ledger.py",
        "            _ = self.begins\n",
        "",
        f"{RELEASE_TESTS}/test_ledger.py",
    ),
    Mutant(
        "list: a meter in other capitals is another",
        "src/meterdp/ingest/meter_list.py",
        "if (name := plain_name(meter)) in known:",
        "if (name := meter) in known:",
        "tests/unit/ingest/test_records_stand_alone.py",
    ),
    Mutant(
        "ledger: a checkpoint is believed without its seal",
        f"{PRIVACY}/ledger_file.py",
        "if not hmac.compare_digest(seal, self._seal(number, digest, state)) or (",
        "if (",
        f"{RELEASE_TESTS}/test_ledger.py",
    ),
    Mutant(
        "ledger: charges of an earlier version without days count in their period alone",
        f"{PRIVACY}/spent.py",
        "        return tuple(interval_of(*span, zone) for span in [*days_of(name), (first, last)])\n    return None",
        "        return tuple(interval_of(*span, zone) for span in [*days_of(name), (first, last)])\n    return ()",
        f"{RELEASE_TESTS}/test_migrate.py",
    ),
    Mutant(
        "release: a tenth less noise",
        f"{PRIVACY}/noise.py",
        "discrete_gaussian(std / self.grid, steps.size)",
        "discrete_gaussian(0.9 * std / self.grid, steps.size)",
        f"{RELEASE_TESTS}/test_safe_noise.py",
    ),
    Mutant(
        "release: rounding is not charged",
        "src/meterdp/privacy/gaussian.py",
        "return sensitivity * (1 + _FLOAT_SLACK) + grid * math.sqrt(entries) if grid > 0 else sensitivity",
        "return sensitivity * (1 + _FLOAT_SLACK)",
        f"{PROVEN_PRIVACY}::test_without_the_charge_for_rounding_the_grid_would_exceed_the_budget",
    ),
    Mutant(
        "release: sums that are not exact",
        f"{PROVEN}/stack.py",
        "    if grid > 0:\n",
        "    if grid > 1:\n",
        f"{PROVEN_PRIVACY}::test_a_release_on_the_grid_is_paid_for_to_the_last_step",
    ),
    Mutant(
        "release: the gate lets a published mechanism pass",
        f"{PRIVACY}/policy.py",
        "if guarantee.family not in RELEASABLE:",
        'if guarantee.family == "exact":',
        f"{RELEASE_TESTS}/test_gate.py",
    ),
    Mutant(
        "release: on a full disk the charge is on the books before there is space for the copy",
        f"{PRIVACY}/ledger_file.py",
        "                if copied:\n                    raise\n",
        "",
        f"{RELEASE_TESTS}/test_full_disk.py",
    ),
    Mutant(
        "release: on a full disk noise is drawn after a charge that could not be written",
        f"{PRIVACY}/ledger.py",
        "            file.append([*events, *charges], rows)\n",
        "            try:\n"
        "                file.append([*events, *charges], rows)\n"
        "            except Exception:\n"
        "                pass\n",
        f"{RELEASE_TESTS}/test_full_disk.py",
    ),
    Mutant(
        "release: a forecast is free",
        f"{GROUP}/mechanism.py",
        "return self.plan.mu\n",
        "return 0.0\n",
        FORECASTS,
    ),
    Mutant(
        "release: the first of linked releases is charged although the others do not fit",
        f"{PRIVACY}/ledger.py",
        "charge = sum((request.charge for request in part), NOTHING)",
        "charge = part[0].charge",
        f"{RELEASE_TESTS}/test_ledger.py",
    ),
    Mutant(
        "release: mixture and forecasts have separate budgets",
        f"{PRIVACY}/guarantee.py",
        "unit: str = field(compare=False)",
        "unit: str",
        FORECASTS,
    ),
    Mutant(
        "release: files that hide whom they belong to beside a guarantee for readings",
        f"{PRIVACY}/spent.py",
        "if entry.kind != new.kind:",
        "if False:",
        FORECASTS,
    ),
    Mutant(
        "release: one exchanged file is charged, not the order of all",
        "src/meterdp/class_noise/towards_centre.py",
        "spread = 2 * math.sqrt(float((away**2).sum()))",
        "spread = 2 * math.sqrt(float((away**2).sum(axis=1).max()))",
        "tests/unit/class_noise/test_towards_centre.py",
    ),
    Mutant(
        "release: what is not declared is published",
        "src/meterdp/publish/folder.py",
        "    check_files(files)\n",
        "",
        FORECASTS,
    ),
    Mutant(
        "sound stops when exact counts settle",
        f"{PROVEN}/rounds.py",
        "    for step in steps:\n        responsibilities_model = MixtureDraws(weights, means, covariances)\n",
        "    settled = None\n"
        "    for step in steps:\n"
        "        whiten = np.linalg.inv(np.linalg.cholesky(covariances[0]))\n"
        "        z = standardised(x, means[0], whiten)\n"
        "        nearest = log_scales(weights[0], whiten)[:, None] - 0.5 * (z**2).sum(axis=2)\n"
        "        exact = np.bincount(nearest.argmax(axis=0), minlength=len(weights[0]))\n"
        "        if settled is not None and np.abs(exact - settled).max() <= 0.05 * len(x):\n"
        "            break\n"
        "        settled = exact\n"
        "        responsibilities_model = MixtureDraws(weights, means, covariances)\n",
        PROVEN_PRIVACY,
    ),
    Mutant(
        "a missing share that counts the slots anybody has",
        "src/meterdp/profiles/quality.py",
        "slots = max(energy.shape[1], 1)",
        "slots = max(int(np.isfinite(energy).any(axis=0).sum()), 1)",
        "tests/unit/profiles/test_quality.py",
    ),
    Mutant(
        "sound is handed valid records only",
        f"{RELEASE}/mixture.py",
        'log_kwh = Records.from_table(read_table(files["records"], PROFILES)).log_kwh',
        "valid = Records.from_table(read_table(files['records'], PROFILES))\n"
        "    log_kwh = valid.log_kwh[valid.valid]",
        f"{RELEASE_TESTS}/test_gate.py",
    ),
    Mutant(
        "a leak: an error quotes the value of a record",
        f"{EXPORTS}/fields.py",
        '        "is not a number",\n',
        '        f"is not a number: {field.values[int(bad[0])] if bad else 0}",\n',
        STEPS_LEAK,
    ),
    Mutant(
        "a leak: a meter id in the log",
        f"{EXPORTS}/ingest.py",
        "    survey.meter_ids = list(index)\n",
        "    survey.meter_ids = list(index)\n"
        '    __import__("sys").stderr.write(f"first meter: {survey.meter_ids[0]}\\n")\n',
        STEPS_LEAK,
    ),
    Mutant(
        "a leak: a count of readings in a Parquet footer",
        f"{EXPORTS}/ingest.py",
        "        write_table(meters[0], METERS, crosswalk, metadata)\n",
        '        write_table(meters[0], METERS, crosswalk, {**(metadata or {}), "used": str(chunks.counts[USED])})\n',
        STEPS_LEAK,
    ),
    Mutant(
        "a leak: the smallest and the largest value of every column in a Parquet footer",
        "src/meterdp/core/parquet.py",
        '"write_statistics": False',
        '"write_statistics": True',
        STEPS_LEAK,
    ),
    Mutant(
        "a leak: a meter id in a file name",
        f"{EXPORTS}/ingest.py",
        "    scratch.mkdir(parents=True, exist_ok=True)\n",
        "    scratch.mkdir(parents=True, exist_ok=True)\n    (scratch / survey.meter_ids[0]).touch()\n",
        STEPS_LEAK,
    ),
    Mutant(
        "a leak: a traceback says what the error says",
        "src/meterdp/core/job.py",
        "    print(without_message(error), file=sys.stderr, flush=True)\n",
        "    traceback.print_exc(file=sys.stderr)\n",
        "tests/unit/core/test_job.py",
    ),
    Mutant(
        "the same request for another weekend",
        f"{RELEASE}/service.py",
        'NO_PARAMETERS = ("path", "meters", "incremental")',
        'NO_PARAMETERS = ("path", "meters", "incremental", "weekend")',
        f"{RELEASE_TESTS}/test_gate.py",
    ),
    Mutant(
        "a leak: the digest of the list in the manifest of a release",
        f"{RELEASE}/service.py",
        "{k: v for k, v in parameters.items() if k not in DIGESTS}",
        "dict(self.request(mechanism).parameters)",
        STEPS_LEAK,
    ),
    Mutant(
        "a leak: the name of the request, a digest of the list, in the manifest of a release",
        f"{RELEASE}/service.py",
        '            "meterdp_version": meterdp.__version__,\n',
        '            "meterdp_version": meterdp.__version__,\n            "request": request.key,\n',
        STEPS_LEAK,
    ),
    Mutant(
        "a leak: the scan does not look into footers",
        "src/meterdp/audit/leaks.py",
        '    yield Piece(FOOTER, where + "footer", data[-size:])\n',
        "",
        "tests/unit/audit/test_leak_scan.py",
    ),
    Mutant(
        "half noise in one round: feeder totals",
        f"{PRIVACY}/mechanism.py",
        "return lambda query, exact: noise.add_gaussian(exact, query.noise_std)",
        "return lambda query, exact: "
        'noise.add_gaussian(exact, (0.5 if query.name == "feeders" else 1) * query.noise_std)',
        f"{FEEDER_PRIVACY}::test_noise_has_the_variance_that_is_charged_for_and_every_entry_its_own",
    ),
    Mutant(
        "one seed for two rounds: feeder totals",
        f"{PRIVACY}/mechanism.py",
        "    return lambda query, exact: noise.add_gaussian(exact, query.noise_std)\n",
        "    drawn = noise.add_gaussian(np.zeros((64, 4096)), 1.0)\n"
        "    return lambda query, exact: exact + query.noise_std * drawn[: len(exact), : exact.shape[1]]\n",
        f"{FEEDER_PRIVACY}::test_noise_has_the_variance_that_is_charged_for_and_every_entry_its_own",
    ),
    Mutant(
        "the whole budget twice: feeder totals",
        f"{FEEDERS}/plan.py",
        "own_mu = mu * math.sqrt(share), mu * math.sqrt(1 - share)",
        "own_mu = mu * math.sqrt(share), mu",
        f"{UNIT_FEEDERS}::test_the_charge_is_what_epsilon_and_delta_allow",
    ),
    Mutant(
        "a level without a limit: feeder totals",
        f"{FEEDERS}/plan.py",
        "level = np.sqrt(self.level_share) / (self.level_limit * unit_kwh)",
        "level = np.sqrt(self.level_share) / unit_kwh",
        REPLACING_FEEDER,
    ),
    Mutant(
        "radius from the data: feeder totals",
        f"{FEEDERS}/mechanism.py",
        "y[:, 1:] = clipped(y[:, 1:], how.radius)",
        "y[:, 1:] = clipped(y[:, 1:], np.abs(y).max())",
        REPLACING_FEEDER,
    ),
    Mutant(
        "a count that moves too far: feeder totals",
        f"{FEEDERS}/plan.py",
        "return math.sqrt(1 - self.level_share * above**2 - self.radius**2)",
        "return 1.0 + 0.0 * above",
        REPLACING_FEEDER,
    ),
    Mutant(
        "an extra statistic released without noise: feeder totals",
        f"{FEEDERS}/mechanism.py",
        "return self._totals(common[0], measure(self.plan.own.step, sums.feeders))",
        "return self._totals(common[0], measure(self.plan.own.step, sums.feeders) + 1e-9 * sums.feeders.mean())",
        REPLACING_FEEDER,
    ),
    Mutant(
        "a gap filled from other meters: feeder totals",
        f"{FEEDERS}/mechanism.py",
        "    x = np.where(given, x, fill)",
        "    x = np.where(given, x, fill.mean(axis=0))",
        f"{UNIT_FEEDERS}::test_gaps_are_filled_from_ones_own_readings",
    ),
    Mutant(
        "what all meters share and nobody measured is no error: feeder totals",
        f"{FEEDERS}/mechanism.py",
        "+ together**2 +",
        "+",
        f"{UNIT_FEEDERS}::test_the_standard_error_has_what_nobody_measured",
    ),
    Mutant(
        "records off the grid: feeder totals",
        f"{PRIVACY}/mechanism.py",
        "np.rint(y / grid) if grid > 0 else y",
        "y / grid if grid > 0 else y",
        f"{UNIT_FEEDERS}::test_sums_on_a_grid_are_exact_in_any_order",
    ),
    Mutant(
        "settings that are not among the words: feeder totals",
        f"{RELEASE}/feeders.py",
        "            public_fields(self.mechanism.public, *PUBLIC),\n",
        "            {},\n",
        f"{RELEASE_TESTS}/test_feeders.py::test_every_public_setting_is_among_the_words",
    ),
)


def copy_checkout(folder: Path) -> None:
    """Copy what the tests read, with compiled code, which belongs to sources by their time of change."""
    for name in COPIED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, folder / name)


def break_source(folder: Path, mutant: Mutant) -> None:
    """Put the broken text where the snippet is."""
    path = folder / mutant.file
    text = path.read_text()
    if text.count(mutant.snippet) != 1:
        sys.exit(f"{mutant.name}: the snippet occurs {text.count(mutant.snippet)} times in {mutant.file}")
    path.write_text(text.replace(mutant.snippet, mutant.broken))


def run_tests(folder: Path, tests: list[str]) -> tuple[int, str]:
    """Return the exit code of pytest and its output."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:xdist", "--no-header", *tests],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode < 0:  # a mutant that writes to the wrong place in memory
        return FAILED, f"{done.stdout}\nFAILED {' '.join(tests)}: the process crashed"
    if done.returncode not in (PASSED, FAILED):
        sys.exit(f"pytest could not run {' '.join(tests)}:\n{done.stdout[-3000:]}")
    return done.returncode, done.stdout


def caught_by(mutant: Mutant | None, tests: list[str]) -> str:
    """Return the test that failed and why, empty if all passed, in a copy with this mutant."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_checkout(folder)
        if mutant is not None:
            break_source(folder, mutant)
        code, output = run_tests(folder, tests)
    if code == PASSED:
        return ""
    failed = re.search(r"^FAILED (\S.*)$", output, re.MULTILINE)
    if failed is None:
        sys.exit(f"a fixture broke, which proves nothing:\n{output[-3000:]}")
    return failed[1]


def main(parts: list[str]) -> int:
    """Print a line per mutant; return the number of those that escaped, at most one."""
    chosen = [m for m in MUTANTS if all(part in m.name for part in parts)]
    if not chosen:
        sys.exit("no mutant has such a name; give parts of one, or none for all (such as: half noise)")
    control = list(dict.fromkeys(test for m in chosen for test in m.tests.split()))
    if broken := caught_by(None, control):
        sys.exit(f"a test fails without any mutant: {broken}")
    escaped = 0
    for mutant in chosen:
        test = caught_by(mutant, mutant.tests.split())
        escaped += not test
        print(f"{'caught ' if test else 'ESCAPED'}  {mutant.name}  {test[:200]}", flush=True)
    print(f"{len(chosen) - escaped} of {len(chosen)} caught")
    return min(escaped, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
