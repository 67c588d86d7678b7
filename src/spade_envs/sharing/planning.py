"""What a pull has to fetch, decided from names, sizes and manifests alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from spade_envs.errors import ConfigError, IdError, NotFound
from spade_envs.ids import EnvId
from spade_envs.sharing.local import Holdings
from spade_envs.sharing.names import Renaming
from spade_envs.sharing.offered import Offered
from spade_envs.sharing.outcome import Kind, Outcome
from spade_envs.sharing.plays import fetch_plays
from spade_envs.sharing.wanted import Wanted
from spade_envs.store.index import IndexLine
from spade_envs.trust.incoming import Refused
from spade_envs.trust.origin import sources_in
from spade_envs.trust.seen import Offer, judge_offers, seen_digests

NO_PLAYS = "no plays are noted in {}, so a range of success finds nothing: push them with --plays"
MEND = "leave it out, or ask its publisher for a new version"


@dataclass(frozen=True, slots=True)
class Plan:
    """A version that is to be fetched."""

    source: EnvId
    target: EnvId
    digest: str


@dataclass(kw_only=True)
class Planned:
    """All that was decided."""

    plans: list[Plan] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    """Of what is not fetched."""
    broken: list[Refused] = field(default_factory=list)
    """Versions whose manifest says nothing that counts."""
    held: list[Offer] = field(default_factory=list)
    """What is there and here, or withdrawn there: it is noted, and not fetched."""
    withdrawn: list[Plan] = field(default_factory=list)
    """What is here, in use, and was withdrawn there."""
    notes: list[str] = field(default_factory=list)
    """About the remote as a whole."""


@dataclass(frozen=True, kw_only=True)
class Planner:
    """Decides what to fetch of a remote into a store.

    Args:
        offered: what the remote has.
        holdings: what the store has.
        wanted: what is asked for.
        renaming: what it is to be called.
        renumber: whether a version whose id is taken gets the next free number.
    """

    offered: Offered
    holdings: Holdings
    wanted: Wanted
    renaming: Renaming
    renumber: bool

    def plan(self) -> Planned:
        """Return the decision.

        Raises:
            NotFound: a ref names nothing at the remote.
            ConfigError: one name is given to several environments.
            RemoteError: manifests cannot be read.
        """
        found = Planned()
        targets = self._targets(found)
        offers = self._offers(targets, found)
        judged = [each for each in offers.values() if not self._is_named(each)]
        known_as = self.offered.remote.known_as
        refused = judge_offers(known_as, judged, there=self._there(offers))
        # Whoever names a version means that one, were there newer ones or not.
        refused |= judge_offers(known_as, filter(self._is_named, offers.values()))
        taken: set[EnvId] = set()
        for source, target in targets.items():
            offer = offers.get(source)
            if source in refused:
                told = refused[source]
                note = f"{told.reason}; {told.mend}"
                found.outcomes.append(Outcome("refused", str(source), note=note))
            elif offer is not None:
                self._decide(Plan(source, target, offer.digest), offer, taken, found)
        return found

    def _there(self, offers: Collection[EnvId]) -> list[EnvId]:
        """Return the versions that count as there: not those that cannot be read any more."""
        seen, names = seen_digests(self.offered.remote.known_as), {each.name for each in offers}
        there = self.offered.listing.versions
        doubtful = [each for each in there
                    if each.name in names and each not in offers and str(each) in seen]  # fmt: skip
        self.offered.fetch_manifests(doubtful)
        gone = {each for each in doubtful if isinstance(self.offered.line(each), str)}
        return [each for each in there if each not in gone]

    def _is_named(self, offer: Offer) -> bool:
        return self.wanted.names(str(offer.env_id), offer.digest)

    def _targets(self, found: Planned) -> dict[EnvId, EnvId]:
        """Return what is wanted, with the id that it would have here."""
        targets = {}
        for source in self._chosen(found):
            try:
                targets[source] = self.renaming.of(source)
            except IdError as error:
                found.outcomes.append(Outcome("refused", str(source), note=str(error)))
        if self.renaming.name and len({source.name for source in targets}) > 1:
            raise ConfigError("--as names one environment; choose one, or use --namespace")
        return targets

    def _chosen(self, found: Planned) -> list[EnvId]:
        there, wanted = self.offered.listing.versions, self.wanted
        if wanted.everything:
            return sorted(there)
        cells = fetch_plays(self.offered) if wanted.success is not None else {}
        if wanted.success is not None and not cells:
            found.notes.append(NO_PLAYS.format(self.offered.remote.label))

        def choose(lines: Mapping[EnvId, IndexLine]) -> list[EnvId]:
            place = self.offered.reader.place
            records = [line.to_record(place) for _, line in sorted(lines.items())]
            return [EnvId.parse(record.id) for record in wanted.choose(records, cells)]

        try:
            chosen = choose(self.offered.lines())
        except NotFound:
            if wanted.names_only:
                raise
        else:
            if wanted.names_only or self.offered.index_holds_for(chosen):
                return chosen
        return choose(self.offered.lines(hearsay=False))

    def _offers(self, targets: Mapping[EnvId, EnvId], found: Planned) -> dict[EnvId, Offer]:
        """Return what the remote says of each; of what was taken from it before, no file is read.

        An id never gets another content, so what this remote had under an id it still has; and if
        that has the sizes of what is here, it is the same.
        """
        offers, unknown = {}, []
        seen = seen_digests(self.offered.remote.known_as)
        for source, target in targets.items():
            record = self.holdings.records.get(target)
            known = record is not None and seen.get(str(source)) == record.digest
            sizes = self.offered.sizes(source)
            if record and known and self.holdings.looks_the_same(target, source, sizes):
                withdrawn = self.offered.is_withdrawn(source)
                offers[source] = Offer(source, record.digest, withdrawn)
            else:
                unknown.append(source)
        self.offered.fetch_manifests(unknown)
        for source in unknown:
            line = self.offered.line(source)
            if isinstance(line, IndexLine):
                gates = self.offered.gates_version(source)
                offers[source] = Offer(source, line.digest, line.withdrawn is not None, gates)
            else:
                found.broken.append(Refused(str(source), f"is refused: {line}", MEND))
        return offers

    def _decide(self, plan: Plan, offer: Offer, taken: set[EnvId], found: Planned) -> None:
        """Let one version be fetched, or say why it is not."""
        source, digest = str(plan.source), plan.digest
        here = self.holdings.ids_of.get(digest, ())
        same = [each for each in here if each == plan.target]
        same += [each for each in here if each.name == plan.target.name]
        if offer.withdrawn:  # of that name there: others may hold the same content for good reason
            label = self.offered.remote.label
            root = self.holdings.root
            same += [
                each for each in here if str(source) in sources_in(root, str(each), digest, label)
            ]
        elif not self.renaming:
            same += here
        used = [
            each for each in dict.fromkeys(same) if self.holdings.records[each].withdrawn is None
        ]
        if offer.withdrawn and used:
            found.held.append(offer)
            found.withdrawn += [replace(plan, target=each) for each in used]
        elif same:
            self._held(replace(plan, target=same[0]), offer, found)
        elif offer.withdrawn:
            found.held.append(offer)  # noted, so that it is not taken when it is offered again
            named = self.wanted.names(source, digest)
            mine = [each for each in here if self.holdings.records[each].withdrawn is None]
            if mine and not named:  # told, and followed by whoever agrees
                found.withdrawn.append(replace(plan, target=mine[0]))
                return
            note = "was withdrawn there, so it is not taken"
            note += "; name another version" if named else ""
            kind: Kind = "refused" if named else "withdrawn"
            found.outcomes.append(Outcome(kind, source, "", digest, note))
        elif plan.target not in self.holdings.records and plan.target not in taken:
            taken.add(plan.target)
            found.plans.append(plan)
        elif self.renumber:
            target = self.holdings.next_free(plan.target.name, taken)
            taken.add(target)
            found.plans.append(replace(plan, target=target))
        else:
            rival = self.holdings.records.get(plan.target)
            other = f"{rival.digest[:19]}..." if rival else "another one of this pull"
            note = (
                f"is {digest[:19]}... there, but {plan.target} here is {other}; take it beside "
                "that with --namespace NAME, --as NAME or --renumber"
            )
            found.outcomes.append(Outcome("conflict", source, "", digest, note))

    def _held(self, plan: Plan, offer: Offer, found: Planned) -> None:
        found.held.append(offer)
        text, place = str(plan.source), str(plan.target)
        if plan.target != self.renaming.of(plan.source):
            note = f"is here as {plan.target}"
            found.outcomes.append(Outcome("same", text, place, plan.digest, note))
        elif self.holdings.looks_the_same(
            plan.target, plan.source, self.offered.sizes(plan.source)
        ):
            found.outcomes.append(Outcome("same", text, place, plan.digest))
        else:
            note = "has other texts or another certificate there; yours stays"
            found.outcomes.append(Outcome("kept", text, place, plan.digest, note))
