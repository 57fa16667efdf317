"""The runtime under the embedder keeps to itself."""

import os
import subprocess
import sys

CODE = """
import sys
from pathlib import Path
from tsim.embed import OnnxEmbedder
embedder = OnnxEmbedder(Path(sys.argv[1]), graphs=Path(sys.argv[2]), threads=1)
assert embedder.embed(["one gpu"]).shape[0] == 1
"""


def test_embedding_leaves_nothing_in_the_user_s_home(tiny, tmp_path):
    """ONNX Runtime keeps a device id and an event database there unless it is told not to."""
    home = tmp_path / "home"
    home.mkdir()
    places = {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "ORT_"))}
    subprocess.run(
        [sys.executable, "-c", CODE, str(tiny), str(tmp_path / "graphs")],
        check=True,
        env={**kept, **places},
    )
    assert [str(path.relative_to(home)) for path in home.rglob("*")] == []
