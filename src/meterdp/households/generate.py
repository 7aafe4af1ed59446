"""prototype"""
from __future__ import annotations
from functools import lru_cache
import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import nnls
from scipy.special import ndtr, ndtri
from meterdp.core.compiled import njit
from meterdp.core.noise import keyed_generator
from meterdp.households.columns import Columns
from meterdp.households.vector import VectorSettings, from_signed_log, OFFSET

NU = np.linspace(-4.8, 4.8, 481)
STEP = 1 / 16
A = np.arange(-6, 6 + STEP / 2, STEP)      # means of latent
Y = np.arange(-11, 11 + STEP / 2, STEP)    # latent
RHO = np.array([0, .05, .1, .2, .3, .4, .5, .6, .7, .8, .88, .94, .98, 1.0])
CAP = 1.35

def gauss(d, s):
    """row-normalised smoothing weights of (n,m) differences"""
    w = np.exp(-.5 * (d / max(s, 1e-9)) ** 2)
    return w / w.sum(1, keepdims=True)

@lru_cache
def tables():
    phi = ndtr(Y[None, :] - A[:, None])               # (A,Y)
    k1 = gauss(A[:, None] - Y[None, :], 1.0)          # (A,Y)
    inner = [gauss(Y[:, None] - Y[None, :], np.sqrt(1 - r)) if r < 1 else np.eye(len(Y)) for r in RHO]
    outer = [gauss(A[:, None] - Y[None, :], np.sqrt(r)) if r > 0 else gauss(A[:, None] - Y[None, :], 1e-3) for r in RHO]
    return phi, k1, inner, outer

def isotonic(v):
    up = np.maximum.accumulate(v, 1)
    down = np.minimum.accumulate(v[:, ::-1], 1)[:, ::-1]
    return .5 * (up + down)

def quantile_tables(vec, S):
    """(H, NU) ratio quantile function with mean one."""
    nu = ndtri(S.levels)
    q = isotonic(vec[:, 1:14])
    if not S.feed_in: q = np.maximum(q, np.log(OFFSET))
    P = PchipInterpolator(nu, q, axis=1)
    x = np.clip(NU, nu[0], nu[-1])
    t = P(x)
    slope = np.maximum((q[:, -1] - q[:, -2]) / (nu[-1] - nu[-2]), 0)
    t += slope[:, None] * np.maximum(NU - nu[-1], 0)
    zero = vec[:, 14:15]
    p = ndtr(NU)
    taper = np.clip((nu[-1] - NU) / (nu[-1] - nu[-4]), 0, 1)
    edges = ndtr(np.r_[-np.inf, (NU[1:] + NU[:-1]) / 2, np.inf])
    w = np.diff(edges)
    floor = np.log(OFFSET)
    iszero = p[None] < zero
    if not S.feed_in:
        def ratio(d):
            z = np.maximum(t + d[:, None] * taper, floor)
            z[iszero] = floor
            return from_signed_log(z)
        lo = np.full(len(vec), -3.); hi = -lo
        for _ in range(30):
            mid = .5 * (lo + hi)
            m = ratio(mid) @ w
            lo = np.where(m < 1, mid, lo); hi = np.where(m < 1, hi, mid)
        return np.maximum.accumulate(ratio(.5 * (lo + hi)), 1)
    return from_signed_log(t)

def lookup(table, at, x0, step):
    f = np.clip((at - x0) / step, 0, table.shape[1] - 1 - 1e-9)
    i = f.astype(int); f = f - i
    rows = np.arange(len(table))[:, None]
    return table[rows, i] * (1 - f) + table[rows, i + 1] * f

@njit(cache=True)
def histogram(m, lo, hi, w, mid):
    n = len(w)
    w[:] = 0
    for b in range(n): mid[b] = lo + (hi - lo) * (b + .5) / n
    f = n / (hi - lo) if hi > lo else 0.0
    for v in m:
        b = int((v - lo) * f)
        w[min(max(b, 0), n - 1)] += 1
    w /= len(m)

@njit(cache=True)
def ahist(a, w, a0, step, out):
    out[:] = 0
    for i in range(len(a)):
        f = min(max((a[i] - a0) / step, 0), len(out) - 1 - 1e-9)
        j = int(f); f -= j
        out[j] += w[i] * (1 - f); out[j + 1] += w[i] * f

BINS = 240
def solve_means(q, M):
    """iterate a such that E Q(F(a+e)) = M; return ga (H,A) mean of g at A, g (H,Y), nu_ref(H,Y), hist"""
    phi, k1, inner, outer = tables()
    H = len(q)
    w = np.empty((H, BINS)); mid = np.empty((H, BINS))
    for i in range(H): histogram(M[i], M[i].min(), M[i].max(), w[i], mid[i])
    a = np.zeros((H, BINS)); hist = np.empty((H, len(A)))
    for it in range(10):
        for i in range(H): ahist(a[i], w[i], A[0], STEP, hist[i])
        nu = ndtri(np.clip(hist @ phi, 1e-300, 1)); 
        up = -ndtri(np.clip(hist @ (1 - phi), 1e-300, 1)); nu = np.where(nu > 0, up, nu)
        g = lookup(q, nu, NU[0], NU[1] - NU[0])
        ga = g @ k1.T
        new = np.empty_like(a)
        for i in range(H): new[i] = np.interp(mid[i], ga[i], A)
        new -= (w * new).sum(1, keepdims=True)
        a = np.clip(new, A[0], A[-1])
    return a, mid, w, hist, g, ga, nu

def second_moments(g, hist):
    phi, k1, inner, outer = tables()
    out = np.empty((len(g), len(RHO)))
    for k in range(len(RHO)):
        s = (g @ inner[k].T) ** 2
        out[:, k] = (hist * (s @ outer[k].T)).sum(1)
    return out

# parts --------------------------------------------------------------
DRIFT, DRIFT_H = 0.8, 0.4
OU_H = (0.5, 1.5, 6.0)
DAY_AR = (0.0, 3.0, 30.0)     # days
def habit_amplitudes(slots, days, interval_h):
    n = slots * days
    k = np.arange(n // 2 + 1)
    amp = 1 / np.sqrt(1 + (2 * np.pi * k / (n * interval_h) * 0.35) ** 2)
    from meterdp.households.columns import DAILY_HARMONICS, DAY_OFF_HARMONICS
    if days == 1: amp[:DAILY_HARMONICS + 1] = 0
    else: amp[::days] = 0
    return amp
def habit_acf(slots, days, interval_h, lag):
    amp = habit_amplitudes(slots, days, interval_h)
    k = np.arange(len(amp))
    return (amp ** 2 * np.cos(2 * np.pi * k * lag / (slots * days))).sum() / (amp ** 2).sum()
OSC_P, OSC_D = 5.0, 3.0 # in slots: period; decay
def part_correlations(S):
    """rows: sum, lag1, lag2, day, week, half day, daily 1, daily 7; columns parts."""
    s = S.calendar.slots_per_day; h = 24 / s
    def day_corr(tau, d):
        lo = np.floor(d); f = d - lo
        r = lambda n: (1.0 if n == 0 else (np.exp(-n / tau) if tau > 0 else 0.0))
        return (1 - f) * r(lo) + f * r(lo + 1)
    cols = []
    halfs = S.half_day_lags
    tri = np.arange(-s + 1, s); tw = (s - np.abs(tri)) / s ** 2
    def col(fn):
        return [1.0, fn(1), fn(2), fn(s), fn(7 * s), np.mean([fn(k) for k in halfs]),
                sum(w * fn(s + t) for t, w in zip(tri, tw)), sum(w * fn(7 * s + t) for t, w in zip(tri, tw))]
    for tau in DAY_AR: cols.append(col(lambda k: day_corr(tau, abs(k) / s)))
    cols.append(col(lambda k: habit_acf(s, 1, h, k)))
    cols.append(col(lambda k: habit_acf(s, 7, h, k)))
    def drift(k):
        m = round(k / s); j = abs(k - m * s)
        return DRIFT ** abs(m) * np.exp(-j * h / DRIFT_H)
    cols.append(col(drift))
    for tau in OU_H: cols.append(col(lambda k: np.exp(-abs(k) * h / tau)))
    cols.append(col(lambda k: float(k == 0)))
    cols.append(col(lambda k: np.exp(-abs(k) / OSC_D) * np.cos(2 * np.pi * abs(k) / OSC_P)))
    return np.array(cols).T
RIDGE = np.array([.05] * 10 + [.1])
WEIGHT = np.array([30, 3, 3, 3, 3, 3, 2, 2])

@njit(cache=True)
def nnls_pg(R, t, w):
    P = R.shape[1]
    G = R.T @ R
    c = R.T @ t
    for p in range(P): G[p, p] += 1e-4
    # coordinate descent
    for it in range(400):
        for p in range(P):
            s = c[p]
            for q in range(P):
                if q != p: s -= G[p, q] * w[q]
            w[p] = max(0.0, s / G[p, p])

def invert(second, target):
    """second (H, RHO) increasing; target (H,K) second moments -> rho, odd continuation below zero"""
    out = np.empty_like(target)
    for i in range(len(second)):
        b = np.maximum.accumulate(second[i]) + 1e-12 * np.arange(len(RHO))
        d = target[i] - b[0]
        out[i] = np.sign(d) * np.interp(np.abs(d), b - b[0], RHO)
    return out

def solve_weights(vec, S, M, q, g, ga, hist):
    P = 15 + len(S.columns.names)
    acf = vec[:, P:P + 4]; half, d1, d7 = vec[:, P + 4], vec[:, P + 5], vec[:, P + 6]
    edges = ndtr(np.r_[-np.inf, (NU[1:] + NU[:-1]) / 2, np.inf]); w = np.diff(edges)
    mean = q @ w; var = (q ** 2) @ w - mean ** 2
    second = second_moments(g, hist)
    Mm = M.mean(1)
    mvar = M.var(1)
    res = np.empty((len(vec), 7))
    for k, lag in enumerate(S.lags):
        am = (M[:, :-lag] * M[:, lag:]).mean(1) - Mm ** 2
        res[:, k] = acf[:, k] * var - am
    res[:, 4] = half * var; res[:, 5] = d1 * var; res[:, 6] = d7 * var
    h1 = np.gradient(ga, STEP, axis=1)
    kappa = ((hist * h1).sum(1) ** 2 / np.maximum((hist * h1 ** 2).sum(1), 1e-12))[:, None]
    res[:, 4:] /= np.maximum(kappa, .2)
    rho = invert(second, second[:, :1] + res)
    R = part_correlations(S)
    out = np.zeros((len(vec), R.shape[1]))
    for i in range(len(vec)):
        wv, _ = nnls(np.vstack([WEIGHT[:, None] * R, np.diag(RIDGE)]), np.r_[WEIGHT * np.r_[1, rho[i]], np.zeros(R.shape[1])])
        out[i] = wv / wv.sum()
    return out, rho

@njit(cache=True)
def ou(e, rho):
    s = np.sqrt(1 - rho * rho)
    for t in range(1, len(e)): e[t] = rho * e[t - 1] + s * e[t]
@njit(cache=True)
def osc(e, p1, p2, c):
    for t in range(2, len(e)): e[t] = p1 * e[t - 1] + p2 * e[t - 2] + c * e[t]

@njit(cache=True)
def driftf(e, phi, s):
    c = np.sqrt(1 - phi * phi)
    for t in range(s, len(e)): e[t] = phi * e[t - s] + c * e[t]
def std(x): return (x - x.mean()) / x.std()

def latent(rng, w, cal, cols, common, share):
    s = cal.slots_per_day; h = 24 / s; T = cal.slot_count
    nd = cols.day_count
    y = np.zeros(T)
    d = np.zeros(nd)
    for k, tau in enumerate(DAY_AR):
        e = rng.standard_normal(nd)
        if tau: ou(e, np.exp(-1 / tau))
        d += np.sqrt(w[k]) * std(e)
    if common is not None:
        v = w[:len(DAY_AR)].sum()
        d = np.sqrt(1 - share) * d + np.sqrt(share * v) * common
    y += d[cols.day]
    k = len(DAY_AR)
    for days, slot in ((1, cal.slot_of_day), (7, cal.slot_of_week)):
        z = np.fft.rfft(rng.standard_normal(s * days)) * habit_amplitudes(s, days, h)
        y += np.sqrt(w[k]) * std(np.fft.irfft(z, s * days))[slot]
        k += 1
    e = rng.standard_normal(T + 0)
    ou(e, np.exp(-h / DRIFT_H)); driftf(e, DRIFT, s); y += np.sqrt(w[k]) * e; k += 1
    for tau in OU_H:
        e = rng.standard_normal(T)
        ou(e, np.exp(-h / tau)); y += np.sqrt(w[k]) * e; k += 1
    y += np.sqrt(w[k]) * rng.standard_normal(T); k += 1
    e = rng.standard_normal(T); m = np.exp(-1 / OSC_D)
    p1, p2 = 2 * m * np.cos(2 * np.pi / OSC_P), -m * m
    v = (1 - p2) / ((1 + p2) * ((1 - p2) ** 2 - p1 ** 2))
    osc(e, p1, p2, 1 / np.sqrt(v)); y += np.sqrt(w[k]) * e
    return y

def expected(vec, S):
    P = len(S.columns.names); beta = vec[:, 15:15 + P]
    return S.columns.rows(beta, 1 - beta[:, :S.columns.profile_count] @ S.columns.means, S.columns.yearly_means)

def generate(vec, S, cal=None, seed=0, first=0, common=None, share=0.0):
    cal = cal or S.calendar
    h = S.calendar.interval_minutes / 60
    cols = Columns(cal, S.days_off, S.columns.seasons)
    P = len(S.columns.names)
    beta = vec[:, 15:15 + P]
    q = quantile_tables(vec, S)
    offset = 1 - beta[:, :S.columns.profile_count] @ S.columns.means
    M = S.columns.rows(beta, offset, S.columns.yearly_means)
    lo = q[:, NU.searchsorted(-1.5)][:, None]
    M = np.maximum(M, lo)
    a, mid, w, hist, g, ga, nu = solve_means(q, M)
    weights, rho = solve_weights(vec, S, M, q, g, ga, hist)
    Mr = M if cal is S.calendar else np.maximum(cols.rows(beta, offset, S.columns.yearly_means), lo)
    T = cal.slot_count
    out = np.empty((len(vec), T))
    nurank = ndtri((np.arange(T) + .5) / T)
    phi = tables()[0]
    if cal is S.calendar: nureq = nu
    for i in range(len(vec)):
        rng = keyed_generator(seed, "household year", first + i)
        at = np.interp(Mr[i], ga[i], A) - a_shift(a[i], mid[i], ga[i])
        y = at + latent(rng, weights[i], cal, cols, common, share)
        if cal is not S.calendar:
            hr = np.empty(len(A)); ahist(at, np.full(T, 1 / T), A[0], STEP, hr)
            n1 = ndtri(np.clip(hr @ phi, 1e-300, 1)); n2 = -ndtri(np.clip(hr @ (1 - phi), 1e-300, 1))
            nr = np.where(n1 > 0, n2, n1)
        else: nr = nu[i]
        order = np.argsort(y)
        ok = np.r_[True, np.diff(nr) > 1e-12]
        ys = np.interp(nurank, nr[ok], Y[ok])
        x = np.interp(ys, Y, np.interp(nu[i], NU, q[i]))
        out[i, order] = x
    size = np.exp(vec[:, 0])
    return out * size[:, None] * cal.interval_minutes / 60, weights, rho

def a_shift(a, mid, ga):
    """shift of final recentring: compare interp with stored a"""
    j = len(a) // 2
    return np.mean(np.interp(mid, ga, A) - a)
