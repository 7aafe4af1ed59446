"""Write the synthetic export that stands in where the user gives none."""

from meterdp.core.job import job
from meterdp.simulate.export import simulate_export
from meterdp.simulate.parameters import START_DATE, SimulationParameters

with job(snakemake.input, snakemake.log):
    simulate_export(
        SimulationParameters.from_yaml(snakemake.input.parameters),
        snakemake.output.export,
        seed=snakemake.params.seed,
        start_date=START_DATE,
        meter_list_path=snakemake.output.meters,
        **snakemake.params.simulate,
    )
