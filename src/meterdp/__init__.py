"""meterdp: reproducible, differentially private smart-meter studies.

One package per room of the house, in the order data flows: ``exports``, ``simulate``, ``profiles``,
``mixture``, ``accounting``, ``mechanisms``, ``forecasting``, ``classnoise``, ``release``, ``figures``.
``core`` holds what every room needs: errors, table schemas, Parquet, progress and provenance.
"""

__version__ = "0.1.0"
