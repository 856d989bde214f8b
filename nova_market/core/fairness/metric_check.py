# SPDX-License-Identifier: Apache-2.0
"""Does a heaviness metric keep the constraints of the paper? Checked by sampling, at start.

Implements the inequalities of IFI-2016.04, section III-B and III-C.4, plus two that follow from the
incentives it asks for. By name:

    static            an idle VM costs strictly more with each component of its endowment
    non-minimalistic  h_v(e = x, l = x + y) > h_v(e = x + y, l = x + y)
    positive          h_v > 0, also for an idle VM whose share others want
    credit            using less than the endowment costs less than using all of it
    load              h_v grows strictly with load, above and below the endowment
    configuration     for a given load, e = l is the cheapest endowment
    self-dealing      a user with a busy and an idle VM gains nothing by under-sizing the busy one

Trials are random hosts with 1 to 3 neighbours, from a generator of fixed seed: the same metric always
gets the same answer.
"""

from collections.abc import Callable

import numpy as np

from nova_market.core.fairness.cloud_norm import CloudNorm
from nova_market.core.fairness.heaviness import Metric
from nova_market.core.resource import RESOURCES, Array
from nova_market.errors import UnsoundMetric

TRIALS = 60
TOLERANCE = 1e-9
"""Relative to the heaviness of a typical VM (about 1); an inequality that holds with equality fails."""

Check = Callable[[Metric, CloudNorm, Array, Array, np.random.Generator], str]


def check(metric: Metric, name: str) -> None:
    """Refuse a metric that breaks a constraint it does not waive.

    :raises UnsoundMetric: names the metric, the constraint, the inequality and the numbers.
    """
    for constraint, found in broken(metric).items():
        if constraint not in metric.waives:
            raise UnsoundMetric(
                f'heaviness metric {name!r} breaks the constraint {constraint!r} of IFI-2016.04 section III: '
                f'{found}. Correct the metric or choose another (greediness is sound)'
            )


def broken(metric: Metric) -> dict[str, str]:
    """Constraints that the metric breaks: name -> the inequality with the numbers that break it."""
    rng = np.random.default_rng(2016)
    result: dict[str, str] = {}
    for _ in range(TRIALS):
        size = len(RESOURCES)
        cloud = CloudNorm(
            supply=rng.uniform(5.0, 50.0, size),
            weights=np.full(size, 1.0 / size),
            users=int(rng.integers(2, 6)),
        )
        neighbours = int(rng.integers(1, 4))
        others_e = rng.uniform(0.1, 2.0, (neighbours, size))
        others_l = others_e * rng.uniform(0.2, 2.0, (neighbours, size))
        others_l[0] = others_e[0] * rng.uniform(1.1, 3.0, size)  # someone wants what is left over
        for constraint, examine in CHECKS.items():
            if constraint not in result:
                found = examine(metric, cloud, others_e, others_l, rng)
                if found:
                    result[constraint] = found
    return result


def _first(
    metric: Metric, cloud: CloudNorm, e: Array, load: Array, others_e: Array, others_l: Array
) -> float:
    """Heaviness of a VM among neighbours."""
    value = metric.heaviness(np.vstack([load, others_l]), np.vstack([e, others_e]), cloud)
    return float(value[0])


def _draw(rng: np.random.Generator, low: float, high: float, size: int) -> Array:
    return np.asarray(rng.uniform(low, high, size), dtype=np.float64)


def _less(smaller: float, larger: float, text: str) -> str:
    """'' when smaller < larger, else the broken inequality."""
    if smaller < larger - TOLERANCE:
        return ''
    return f'{text} does not hold: {smaller:.6g} is not below {larger:.6g}'


def _static(m: Metric, c: CloudNorm, oe: Array, ol: Array, rng: np.random.Generator) -> str:
    e = _draw(rng, 0.1, 2.0, oe.shape[1])
    idle = np.zeros_like(e)
    before = _first(m, c, e, idle, oe, ol)
    for r in range(len(e)):
        larger = e.copy()
        larger[r] += 0.5
        found = _less(
            before, _first(m, c, larger, idle, oe, ol), f's(e) < s(e + x) in {RESOURCES[r]}'
        )
        if found:
            return found
    return ''


def _non_minimalistic(
    m: Metric, c: CloudNorm, oe: Array, ol: Array, rng: np.random.Generator
) -> str:
    x, y = _draw(rng, 0.1, 2.0, oe.shape[1]), _draw(rng, 0.1, 2.0, oe.shape[1])
    fitted = _first(m, c, x + y, x + y, oe, ol)
    return _less(fitted, _first(m, c, x, x + y, oe, ol), 'h_v(e=x+y, l=x+y) < h_v(e=x, l=x+y)')


def _positive(m: Metric, c: CloudNorm, oe: Array, ol: Array, rng: np.random.Generator) -> str:
    e = _draw(rng, 0.1, 2.0, oe.shape[1])
    return _less(0.0, _first(m, c, e, np.zeros_like(e), oe, ol * 10), '0 < h_v of an idle VM')


def _credit(m: Metric, c: CloudNorm, oe: Array, ol: Array, rng: np.random.Generator) -> str:
    e = _draw(rng, 0.1, 2.0, oe.shape[1])
    content = np.minimum(ol, oe)  # nobody is above its endowment
    half = _first(m, c, e, e * 0.5, oe, content)
    static = _first(m, c, e, e, oe, content)
    minimum = float(m.heaviness(np.zeros_like(e)[None, :], e[None, :], c)[0])
    return _less(half, static, 'h_v(l=e/2) < h_v(l=e)') or _less(0.0, minimum, '0 < h_v(l=0)')


def _load(m: Metric, c: CloudNorm, oe: Array, ol: Array, rng: np.random.Generator) -> str:
    e = _draw(rng, 0.1, 2.0, oe.shape[1])
    load = e * _draw(rng, 0.0, 2.0, len(e))
    more = load + _draw(rng, 0.01, 0.3, len(e)) * (_draw(rng, 0.0, 1.0, len(e)) < 0.5)
    more[0] += 0.05
    return _less(
        _first(m, c, e, load, oe, ol), _first(m, c, e, more, oe, ol), 'h_v(l) < h_v(l + x)'
    )


def _configuration(m: Metric, c: CloudNorm, oe: Array, ol: Array, rng: np.random.Generator) -> str:
    load = _draw(rng, 0.2, 2.0, oe.shape[1])
    best = _first(m, c, load, load, oe, ol)
    for scale in rng.uniform(0.1, 2.0, 4):
        if abs(scale - 1) > 0.01:
            found = _less(
                best, _first(m, c, load * scale, load, oe, ol), f'h_v(e=l) < h_v(e={scale:.2f} l)'
            )
            if found:
                return found
    return ''


def _self_dealing(m: Metric, c: CloudNorm, oe: Array, ol: Array, rng: np.random.Generator) -> str:
    busy = _draw(rng, 0.4, 1.0, oe.shape[1])
    idle_e, idle_l = busy, busy * 0.25
    honest, dealt = (
        float(m.heaviness(np.vstack([busy, idle_l, ol]), np.vstack([e, idle_e, oe]), c)[:2].sum())
        for e in (busy, busy * 0.7)
    )
    return _less(honest - 2 * TOLERANCE, dealt, 'h(busy VM sized to its load) <= h(under-sized)')


CHECKS: dict[str, Check] = {
    'static': _static,
    'non-minimalistic': _non_minimalistic,
    'positive': _positive,
    'credit': _credit,
    'load': _load,
    'configuration': _configuration,
    'self-dealing': _self_dealing,
}
