"""Our prover as parity and benchmarks ask it: in this process, with layers loaded once."""

from __future__ import annotations

import time
from pathlib import Path

from prover_cases import Case
from prover_clauz3 import Answer

from lictor_prove.errors import ProveError
from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.proof.prover import prove
from lictor_prove.proof.settings import DEFAULT, ProofSettings
from lictor_prove.rehearsal.rounds import rehearse
from lictor_prove.rehearsal.stage import Stage
from lictor_prove.workers.process import spare_the_collector

SEED = "5eed" * 8
"""The same runs in every round."""

Roots = tuple[tuple[Path, ...], tuple[Path, ...]]


class Ours:
    """Our verdicts; keeps each layer that it loaded. With a stage, what is proved is rehearsed on it."""

    def __init__(self, stage: Stage | None = None) -> None:
        self._layers: dict[Roots, Layer | ProveError] = {}
        self._stage = stage
        self._settings = DEFAULT if stage is not None else ProofSettings(rehearsal_ms=0)
        self.times: dict[str, tuple[float, float]] = {}
        """Of each case that was rehearsed, milliseconds of the proof and of its rehearsal."""

    def layer(self, case: Case) -> Layer:
        """The layer that a case is judged by, or why there is none."""
        roots = (case.trusted_roots, case.import_roots)
        if roots not in self._layers:
            try:
                self._layers[roots] = load_layer(*roots)
            except ProveError as error:
                self._layers[roots] = error
            spare_the_collector()
        layer = self._layers[roots]
        if isinstance(layer, ProveError):
            raise layer
        return layer

    def prove(self, case: Case) -> Answer:
        """Our verdict on a case, and how long it took without loading the layer."""
        source = case.file.read_text("utf-8")
        try:
            layer = self.layer(case)
        except ProveError as error:
            return Answer("refused", 0.0, str(error))
        begun = time.perf_counter()
        proof = prove(source, name=case.file.name, layer=layer, settings=self._settings, seed=SEED)
        if self._stage is not None:
            proof = rehearse(proof, self._stage)
        ms = (time.perf_counter() - begun) * 1000
        if proof.rehearsal is not None and not proof.rehearsal.refused:
            self.times[case.name] = (ms - proof.timings.rehearse_ms, proof.timings.rehearse_ms)
        return Answer(str(proof.verdict), ms, "; ".join(told(proof)))


def told(proof: object) -> list[str]:
    """Why it is not proved, as far as it says."""
    reasons = [f"{reason.code}: {reason.message}" for reason in getattr(proof, "reasons", ())]
    return reasons or [
        f"{each.name}: {each.verdict}"
        for each in getattr(proof, "guarantees", ())
        if str(each.verdict) != "proved"
    ]
