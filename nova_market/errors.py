# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, one class per thing a caller can act on."""


class NovaMarketError(Exception):
    """Root of all errors of this package."""


class ConfigurationError(NovaMarketError):
    """A configured value can't work: names the option, the value, the limit and what to do."""


class HostUnavailable(NovaMarketError):
    """The hypervisor does not answer; try again next round."""


class QuotaUnavailable(NovaMarketError):
    """The cloud's quotas can't be read now."""


class MalformedReport(NovaMarketError):
    """A message from a peer breaks the wire schema; it is dropped and counted.

    reason: what it is counted as
    """

    reason = 'malformed'


class OversizedReport(MalformedReport):
    """A message from a peer is too long to be looked at."""

    reason = 'oversized'


class UnsoundMetric(ConfigurationError):
    """A heaviness metric breaks an inequality of IFI-2016.04, section III."""


class ExperimentFailed(NovaMarketError):
    """An experiment could not be run to its end."""


class BadAmount(NovaMarketError):
    """An amount, a bid or an account that the market can't take: names it, the limit and what to do."""


class BalanceTooLow(NovaMarketError):
    """An account can't pay: says what is left and what was needed."""


class KeyReused(NovaMarketError):
    """A posting's key belongs to a different posting already."""


class BadRow(NovaMarketError):
    """What is stored in a row, or was read of a server or a host, cannot be: names it and what it may be."""


class BadWorkload(NovaMarketError):
    """Jobs that no machine can have run, or a log that is none: names the job or the line."""


class BadDocument(NovaMarketError):
    """A document that people write breaks its schema: names the entry, its value and what it may be."""

    def __init__(self, path: tuple[str | int, ...], problem: str) -> None:
        """path: of the entry, () for the whole document; problem: a sentence without the entry's name."""
        super().__init__(f'{".".join(str(one) for one in path) or "the document"}: {problem}')
        self.path = path
        self.problem = problem


class BadBooking(NovaMarketError):
    """A booking or a request of capacity in time that cannot be: names value, limit and what to do."""


class BadLease(NovaMarketError):
    """A request for a lease, a host of its cluster or a setting of its placement that cannot be."""


class BadPower(NovaMarketError):
    """A setting of power that cannot be: names the value, its limits and what to do."""


class PowerUnavailable(NovaMarketError):
    """What switches a host does not answer now: names the host; try again next period."""


class PowerRefused(NovaMarketError):
    """A host cannot be switched as things are: names the host, what stands in the way and what to do."""


class BadTime(NovaMarketError):
    """A text that is no time: says what to give."""


class BadTemplate(NovaMarketError):
    """A template of an application that cannot be run: names the entry, its value and what it may be."""


class BadScript(NovaMarketError):
    """A script that cannot be the script of a job: names the line, what stands there and what to do."""


class BadScenario(NovaMarketError):
    """A scenario of the simulator that cannot be run: names the entry and what it may be."""


class BadSnapshot(NovaMarketError):
    """Arrays of a round that do not fit together or hold what no cloud has: names the array."""


class DatabaseUnavailable(NovaMarketError):
    """The database does not answer. A change may have been made all the same; a second try makes it once."""


class SchemaBehind(NovaMarketError):
    """The database's tables are not the ones this version needs: says which command makes them."""


class UnknownAccount(NovaMarketError):
    """No such account, or it is closed."""


class UnknownApp(NovaMarketError):
    """No such application."""


class PeriodPurged(NovaMarketError):
    """A posting for a period whose postings were purged: whether it was posted can't be known any more."""


class Conflict(NovaMarketError):
    """Somebody else has changed it since it was read: read it again."""


class TooManyApps(Conflict):
    """A project has as many applications as it may have."""


class TooManyBudgets(Conflict):
    """A project has as many budgets as it may have."""


class BudgetNameTaken(Conflict):
    """Another budget of the project has this name."""


class AppDeleting(Conflict):
    """An application is being deleted."""


class BadPlayground(NovaMarketError):
    """A playground cannot run in this directory, or at this port: says why and what to do."""


class AppEnded(Conflict):
    """An application has ended: it can't be changed any more."""


class GenerationChanged(Conflict):
    """An application is not the one that the caller has read."""


class BadJob(NovaMarketError):
    """A job that cannot be taken: names the entry, its value, the limit and what to do."""


class BadTask(NovaMarketError):
    """A task that no tender can make an offer for: names what was given and what is allowed."""


class BadBag(NovaMarketError):
    """A bag of tasks that cannot be: names the entry, its value, the limit and what to do."""


class TooManyBags(Conflict):
    """A project has as many bags that have not ended as it may have."""


class BagEnded(Conflict):
    """A bag has ended or was cancelled: it can't be changed any more."""


class TooManyLeases(Conflict):
    """A project has as many leases that are not over as it may have."""


class LeaseLimitReached(TooManyLeases):
    """A lease would take more of the cloud than its project, or all of them, may have reserved ahead."""


class LeasesOff(NovaMarketError):
    """A lease that costs nothing, where the operator has set no limit: names the options."""


class LeaseChanged(Conflict):
    """A lease was changed since it was read, or its room has to be decided again."""


class LeaseRefused(Conflict):
    """A lease that cannot be met: names the requirement that fails; nothing was booked or charged."""


class LeaseOver(Conflict):
    """A lease is over: nothing of it can be changed."""


class BadNotice(NovaMarketError):
    """Notices that cannot be asked for: names the entry, its value, what is allowed and what to do."""


class TooManyCodes(Conflict):
    """So many codes were sent to confirm addresses that no more are sent now."""


class NoticeFailed(NovaMarketError):
    """A message could not be sent now: says why; try again later."""


class NoticeServerAway(NoticeFailed):
    """What takes all messages of a channel does not answer: others cannot be sent now either."""


class NoticeRefused(NovaMarketError):
    """A message was refused for good: says why; trying again is of no use."""


class TooManyOffers(Conflict):
    """A project has as many offers that are open or held as it may have."""


class OfferEnded(Conflict):
    """An offer was accepted, released, or has expired: nothing becomes of it any more."""


class OfferGone(Conflict):
    """What was offered cannot be had any more, for no more and no later: nothing was charged."""


class PromisesChanged(Conflict):
    """Room was promised to others since it was read: decide again."""


class BadOffer(NovaMarketError):
    """A request for offers, or a hold, that cannot be: names the entry, its value, the limit, what to do."""


class BadRegionAnswer(NovaMarketError):
    """What another region answered to a request for offers is not to be used: names what is wrong."""


class BadQueue(NovaMarketError):
    """A queue that cannot be: names the entry, its value, the limit and what to do."""


class UnknownAttempt(NovaMarketError):
    """No such attempt of a job, or it is another worker's."""


class AttemptEnded(Conflict):
    """An attempt has ended otherwise than a late result says: that result does not count."""


class BadUsageQuery(NovaMarketError):
    """Usage is asked for in a way that has no answer: names the value, the limit and what to do."""


class TooManyQueues(Conflict):
    """A project has as many queues as it may have."""


class TooManyJobs(Conflict):
    """A project or a queue has as many waiting jobs as it may have."""


class QueueFull(TooManyJobs):
    """A queue has as many waiting jobs as it may have: another one may have room."""


class QueueNameTaken(Conflict):
    """Another queue of the cloud has this name."""


class SharesExceeded(Conflict):
    """The shares of all queues of a cloud or an aggregate would be above 1."""


class QueueNotEmpty(Conflict):
    """A queue has jobs that have not ended."""


class QueueClosed(Conflict):
    """A queue takes no new jobs."""


class QueueChanged(Conflict):
    """A queue was changed since it was read."""


class QueueDeleting(Conflict):
    """A queue is being deleted."""


class CloudUnavailable(NovaMarketError):
    """Nova or Placement does not answer; try again next period."""


class CloudAway(CloudUnavailable):
    """Nobody answers at all, or not even our own account is let in: asking for others is of no use now."""


class TrustRefused(NovaMarketError):
    """Keystone does not let this user hand his roles on: says why."""


class MigrationRefused(NovaMarketError):
    """The cloud does not begin this migration: says why. Another one may go."""


class CloudRefused(NovaMarketError):
    """The cloud does not do this now, such as for a quota: says why. Trying again later may help."""


class AccessLost(NovaMarketError):
    """A trust is not good now: its owner or his role is gone, he is locked out, or he deleted it."""


class TrustGone(AccessLost):
    """There is no such trust, and there will be none."""
