"""Zero shot: no memory at all."""

from scaleqa.options import NoOptions
from scaleqa.systems.declaration import Kind, SystemDeclaration
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import Asked, Retrieved, Tools


class ZeroShot(FlatSystem):
    """Shows nothing."""

    def __init__(self, options: NoOptions, tools: Tools) -> None:
        """Starts empty."""
        super().__init__()

    def retrieve(self, asked: Asked) -> Retrieved:
        """Finds nothing."""
        return self.show([])


SYSTEM = SystemDeclaration(
    name="zero_shot",
    summary="Shows nothing: what can be answered without a memory.",
    options=NoOptions,
    make=ZeroShot,
    kind=Kind.BOUND,
    order=2,
    colour="#a8adb4",
)
