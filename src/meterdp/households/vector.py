"""prototype"""
from __future__ import annotations
from dataclasses import dataclass
from datetime import date
from functools import cached_property
import numpy as np
from meterdp.core.compiled import njit
from meterdp.households.columns import Columns, has_seasons
from meterdp.profiles.grid import Calendar

LEVELS = (None, .02, .1, .25, .45, .65, .8, .9, .95, .98, .995, .999, None)
OFFSET = 0.02

def signed_log(r):
    return np.log(OFFSET) + np.arcsinh(r / (2 * OFFSET))
def from_signed_log(y):
    return 2 * OFFSET * np.sinh(y - np.log(OFFSET))

@dataclass(frozen=True)
class VectorSettings:
    calendar: Calendar
    days_off: tuple[date, ...] = ()
    feed_in: bool = False
    @cached_property
    def columns(self):
        return Columns(self.calendar, self.days_off, has_seasons(self.calendar))
    @cached_property
    def levels(self):
        T = self.calendar.slot_count
        return np.array([.5 / T, *LEVELS[1:-1], 1 - .5 / T])
    @cached_property
    def lags(self):
        s = self.calendar.slots_per_day
        return np.array([1, 2, s, 7 * s])
    @cached_property
    def half_day_lags(self):
        s = self.calendar.slots_per_day
        return np.round(np.arange(6, 18.1, 2) / 24 * s).astype(int)
    @cached_property
    def names(self):
        return ['log_mean_kw', *[f'q{k}' for k in range(13)], 'zero_share', *self.columns.names,
                'acf_1', 'acf_2', 'acf_day', 'acf_week', 'half_day', 'daily_1', 'daily_7']

@njit(cache=True, nogil=True)
def regress(y, X, ridge, b, work):
    """least squares of finite y on rows X[t] with intercept; returns intercept; work (P,)"""
    T, P = X.shape
    n = 0; ym = 0.0; xm = np.zeros(P)
    for t in range(T):
        if np.isfinite(y[t]):
            n += 1; ym += y[t]
            for p in range(P): xm[p] += X[t, p]
    ym /= n; xm /= n
    xx = np.zeros((P, P)); xy = np.zeros(P); c = work
    for t in range(T):
        if np.isfinite(y[t]):
            d = y[t] - ym
            for p in range(P): c[p] = X[t, p] - xm[p]
            for p in range(P):
                xy[p] += c[p] * d
                cp = c[p]
                for q in range(p + 1): xx[p, q] += cp * c[q]
    for p in range(P):
        for q in range(p): xx[q, p] = xx[p, q]
        xx[p, p] += ridge * T
    b[:] = np.linalg.solve(xx, xy)
    s = ym
    for p in range(P): s -= xm[p] * b[p]
    return s

@njit(cache=True, nogil=True)
def one(r, X, yearly, slotX, nseason, ridge, lags, half, day, ndays, slots, feed_in, out):
    T, P = X.shape
    n = 0; ym = 0.0
    for t in range(T):
        if np.isfinite(r[t]): n += 1; ym += r[t]
    ym /= n
    var = 0.0
    for t in range(T):
        if np.isfinite(r[t]): var += (r[t] - ym) ** 2
    var /= n
    c0 = regress(r, X, ridge, out[:P], np.empty(P))
    res = np.empty(T)
    fit = np.empty(T)
    for t in range(T):
        s = c0
        for p in range(P): s += X[t, p] * out[p]
        fit[t] = s if feed_in else max(s, 0.0)
        res[t] = r[t] - s
    at = P
    if nseason > 0:
        K = slotX.shape[1]; Q = 4 + 2 * K
        Z = np.empty((T, Q))
        for t in range(T):
            for k in range(4): Z[t, k] = yearly[t, k] * fit[t]
            for d in range(2):
                for k in range(K): Z[t, 4 + d * K + k] = yearly[t, d] * slotX[t, k]
        c1 = regress(res, Z, ridge, out[at:at + Q], np.empty(Q))
        for t in range(T):
            s = c1
            for q in range(Q): s += Z[t, q] * out[at + q]
            res[t] -= s
        at += Q
    for lag in lags:
        s = 0.0; m = 0
        for t in range(T - lag):
            if np.isfinite(r[t]) and np.isfinite(r[t + lag]):
                s += (r[t] - ym) * (r[t + lag] - ym); m += 1
        out[at] = s / m / var if m > 0 and var > 0 else 0.0
        at += 1
    s = 0.0; m = 0
    for lag in half:
        for t in range(T - lag):
            if np.isfinite(res[t]) and np.isfinite(res[t + lag]):
                s += res[t] * res[t + lag]; m += 1
    out[at] = s / m / var if m > 0 and var > 0 else 0.0
    at += 1
    dsum = np.zeros(ndays); dn = np.zeros(ndays)
    for t in range(T):
        if np.isfinite(res[t]):
            dsum[day[t]] += res[t]; dn[day[t]] += 1
    for lag in (1, 7):
        s = 0.0; m = 0
        for d in range(ndays - lag):
            if dn[d] * 2 >= slots and dn[d + lag] * 2 >= slots:
                s += dsum[d] / dn[d] * dsum[d + lag] / dn[d + lag]; m += 1
        out[at] = s / m / var if m > 0 and var > 0 else 0.0
        at += 1

def household_vectors(energy_kwh, S: VectorSettings):
    kw = energy_kwh * 60 / S.calendar.interval_minutes
    out = np.empty((len(kw), len(S.names)))
    C = S.columns
    X = np.ascontiguousarray(C.matrix)
    Yr = np.ascontiguousarray((C.yearly - C.yearly_means)[C.day]); SX = np.ascontiguousarray(C._slot_table[C.calendar.slot_of_day][:, 1:5])
    for i, x in enumerate(kw):
        v = x[np.isfinite(x)]
        if not S.feed_in: v = np.maximum(v, 0)
        size = max(np.abs(v).mean(), 1e-3)
        o = out[i]
        o[0] = np.log(size)
        o[1:14] = signed_log(np.quantile(v / size, S.levels, method='hazen'))
        o[14] = (v == 0).mean()
        one(x / size, X, Yr, SX, len(Yr[0]), 1e-3, S.lags, S.half_day_lags, C.day, C.day_count, S.calendar.slots_per_day, S.feed_in, o[15:])
    return out
