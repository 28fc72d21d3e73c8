"""The proof of one network: on the set's held-out part, and on named pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgefaced.errors import ModelContractError
from edgefaced.models.compiled import ProofFigures
from edgefaced.protocols import InferenceBackend
from edgefaced.recognition.detector import NetworkDetector
from edgefaced.recognition.embedder import NetworkEmbedder
from edgefaced.types import F32, AlignedFace
from edgefaced_convert.figures import DetectorFigures, EmbedderFigures, LfwFigures
from edgefaced_convert.packs import PackNetwork
from edgefaced_convert.proof_detector import Scene, compare_detectors
from edgefaced_convert.proof_embedder import AlignedPairs, cosines, embed_all, lfw_figures
from edgefaced_convert.road import Built


@dataclass(frozen=True, slots=True)
class Verdict:
    """All that was measured of one network; what does not belong to its role is None."""

    embedder: EmbedderFigures | None = None
    lfw: LfwFigures | None = None
    detector: DetectorFigures | None = None
    pictures: DetectorFigures | None = None
    """On the pictures that were named, beside the set's own."""

    @property
    def fault(self) -> str:
        measured = (self.embedder, self.lfw, self.detector)
        faults = [m.fault for m in measured if m is not None]
        if self.pictures is not None:
            faults.append(self.pictures.strict_fault)
        return next((fault for fault in faults if fault), "")

    def record(self) -> ProofFigures:
        """As `compiled.toml` has it; of two sets of pictures the named ones."""
        if self.embedder is not None:
            lfw = self.lfw
            return ProofFigures(
                pictures=self.embedder.faces,
                mean_cosine=_short(self.embedder.mean_cosine),
                first_percentile_cosine=_short(self.embedder.first_percentile),
                lfw_pairs=lfw.pairs if lfw else None,
                lfw_accuracy=_short(lfw.accuracy) if lfw else None,
                lfw_accuracy_float=_short(lfw.accuracy_float) if lfw else None,
            )
        found = self.pictures or self.detector
        if found is None:
            return ProofFigures(pictures=0)
        share = 1 - found.lost / found.faces_float if found.faces_float else 1.0
        known = found.recall is not None
        return ProofFigures(
            pictures=found.pictures,
            recall=_short(found.recall if found.recall is not None else share),
            recall_float=_short(found.recall_float or 0.0) if known else 1.0,
            landmark_error=_short(found.landmark_error),
        )


class EmbedderJudge:
    """Compares embeddings with those of the float network, which are made once."""

    def __init__(
        self,
        network: PackNetwork,
        plain: InferenceBackend,
        faces: Sequence[AlignedFace],
        pairs: AlignedPairs | None,
    ) -> None:
        if not faces:
            raise ModelContractError("the set has no held-out faces", "make a larger one")
        self._network, self._faces, self._pairs = network, faces, pairs
        embedder = NetworkEmbedder(plain, network.spec)
        self._before = embed_all(embedder, faces)
        self._pairs_before: F32 | None = embed_all(embedder, pairs.faces) if pairs else None

    def prove(self, built: Built) -> tuple[Verdict, str]:
        """The verdict and its fault; LFW takes minutes, and is not asked where the rest fails."""
        embedder = NetworkEmbedder(built.backend, self._network.spec)
        verdict = Verdict(embedder=cosines(self._before, embed_all(embedder, self._faces)))
        if not verdict.fault and self._pairs is not None and self._pairs_before is not None:
            after = embed_all(embedder, self._pairs.faces)
            lfw = lfw_figures(self._pairs, self._pairs_before, after)
            verdict = Verdict(embedder=verdict.embedder, lfw=lfw)
        return verdict, verdict.fault


class DetectorJudge:
    """Compares faces with those of the float network."""

    def __init__(
        self,
        network: PackNetwork,
        plain: InferenceBackend,
        held_out: Sequence[Scene],
        named: Sequence[Scene],
    ) -> None:
        decoder = network.spec.decoder
        if decoder is None or {*decoder.scores} & {*decoder.boxes}:
            raise ModelContractError(
                f"{network.spec.id}: boxes and scores are one tensor",
                "in int8 one scale for both makes every score zero: give them outputs of their own",
            )
        if not held_out:
            raise ModelContractError("the set has no held-out frames", "make a larger one")
        self._network, self._held_out, self._named = network, held_out, named
        self._before = self._detector(plain)

    def prove(self, built: Built) -> tuple[Verdict, str]:
        """The verdict and its fault."""
        after = self._detector(built.backend)
        verdict = Verdict(
            detector=compare_detectors(self._before, after, self._held_out),
            pictures=compare_detectors(self._before, after, self._named) if self._named else None,
        )
        return verdict, verdict.fault

    def _detector(self, backend: InferenceBackend) -> NetworkDetector:
        return NetworkDetector(backend, self._network.spec, size=self._network.size)


Judge = EmbedderJudge | DetectorJudge


def _short(value: float) -> float:
    return round(value, 5)
