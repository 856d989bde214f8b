# SPDX-License-Identifier: Apache-2.0
"""What a flavor states of preemption: the properties `lifecycle:*`.

Implements rule J4 for the flavor properties that OpenStack Watcher's specification of preemptible instances
(2026.2)
defines: `lifecycle:preemptable` is true or false, `lifecycle:preempt_policy` is shelve or delete.

Settled here: a job's worker that is deleted is one whose job is queued again. Without the properties the
kind of the job and its own action decide; a flavor that is not preemptible protects best-effort jobs too. A
value that cannot be read protects as well: what was meant is not known, and a job that is spared loses
nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from nova_market.core.job.record import PreemptAction

PREEMPTIBLE = 'lifecycle:preemptable'
POLICY = 'lifecycle:preempt_policy'

ACTIONS = {'shelve': PreemptAction.SHELVE, 'delete': PreemptAction.REQUEUE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """preemptible, action: None where the flavor does not state it; problems: values that cannot be read."""

    preemptible: bool | None = None
    action: PreemptAction | None = None
    problems: tuple[str, ...] = ()

    def may_be_preempted(self, *, best_effort: bool) -> bool:
        """Whether a job on such a flavor may be preempted: best-effort jobs, unless the flavor forbids it."""
        return best_effort and self.preemptible is not False


def lifecycle_of(extra_specs: Mapping[str, str]) -> Lifecycle:
    """What these properties of a flavor state."""
    problems = []
    preemptible = None
    text = extra_specs.get(PREEMPTIBLE)
    if text is not None:
        preemptible = text.strip().lower() == 'true'
        if text.strip().lower() not in ('true', 'false'):
            problems.append(f'{PREEMPTIBLE} = {text!r}: must be true or false; taken as false')
    action = None
    policy = extra_specs.get(POLICY)
    if policy is not None:
        action = ACTIONS.get(policy.strip().lower())
        if action is None:
            problems.append(f'{POLICY} = {policy!r}: must be {" or ".join(ACTIONS)}; not used')
    return Lifecycle(preemptible=preemptible, action=action, problems=tuple(problems))
