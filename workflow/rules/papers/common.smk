# Where the reproductions of papers lie, and what is drawn and printed of each.
# Needs:  the configuration.    Gives:  REPRODUCE, PAPERS, drawn() and printed() for the other files of this folder.
from meterdp.core.steps import TYPICAL_S
from meterdp_papers.registry import PAPERS

REPRODUCE = RESULTS / "reproduce"
TYPICAL_S |= {"reproduce_errata": 60, "draw_reproduction": 10}


def drawn(paper):
    """Figures of a reproduced paper."""
    return [
        REPRODUCE / paper / f"{figure.name}.svg" for figure in PAPERS[paper].figures
    ]


def printed(paper):
    """Tables printed on the page of a reproduced paper."""
    return [
        REPRODUCE / paper / f"{table.name}.parquet" for table in PAPERS[paper].printed
    ]
