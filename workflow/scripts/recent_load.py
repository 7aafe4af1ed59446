"""Judge the readings of one shard; write those of the last days, of every household, for releases about these."""

from datetime import date, timedelta

from meterdp.core.job import job
from meterdp.groupforecast.plan import WINDOW_DAYS
from meterdp.profiles.grid import LocalTime, read_shard_in_pieces
from meterdp.profiles.shard import recent_load
from meterdp.profiles.tables import RECENT_LOAD

params = snakemake.params
days = max(WINDOW_DAYS, params.feeder_days)
first_day = date.fromisoformat(params.last_day) - timedelta(days=days - 1)
with job(snakemake.input, snakemake.log) as write, write.opened(snakemake.output.load, RECENT_LOAD) as add:
    for shard in read_shard_in_pieces(snakemake.input.readings, LocalTime.of(params.local_time)):
        add(recent_load(shard, params.quality, params.profiles, first_day))
