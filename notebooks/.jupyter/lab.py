"""JupyterLab as `make lab` starts it: on this machine alone, asking nobody for anything."""

from pathlib import Path

c = get_config()  # noqa: F821 -- what reads this file gives it

# The clone, so that reports that notebooks write can be opened beside them.
c.ServerApp.root_dir = str(Path(__file__).resolve().parents[2])
c.LabApp.default_url = "/lab/tree/notebooks/00_start_here.ipynb"

c.ServerApp.ip = "127.0.0.1"
c.ServerApp.allow_remote_access = False

# No feed of news, no look for a newer version, no list of extensions from a registry.
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.handlers.announcements.NeverCheckForUpdate"
c.LabApp.extension_manager = "readonly"
# The page asks for consent to what is switched off above; here lies the answer.
c.LabApp.app_settings_dir = str(Path(__file__).parent / "settings")
