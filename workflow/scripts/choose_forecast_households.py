"""Choose the households to forecast, in a fixed order that looks at no reading."""

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.forecasting.select import choose_households
from meterdp.forecasting.tables import FORECAST_HOUSEHOLDS
from meterdp.profiles.tables import QUALITY

with job(snakemake.input, snakemake.log) as write:
    quality = read_table(snakemake.input.quality, QUALITY).to_pandas()
    kept = quality.loc[quality["kept"], "household"].to_numpy()
    chosen = choose_households(kept, snakemake.params.households)
    write(snakemake.output.households, FORECAST_HOUSEHOLDS, {"household": chosen})
